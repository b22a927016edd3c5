"""Programs made from Python without text: `Builder`, on which the other front ends are built."""
