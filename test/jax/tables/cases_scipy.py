"""jax.scipy: special functions, signal processing, statistics, and the rest."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.scipy import fft, signal, special, stats
from jax.scipy.cluster import vq
from jax.scipy.interpolate import RegularGridInterpolator
from jax.scipy.spatial.transform import Rotation

from cases import case, integers, normal, uniform

SERIES = "series, continued fractions and recurrences in f32"
ROUNDING = "sums of many products in another order"
P, Q, U = uniform(9, low=0.5, high=5), uniform(9, low=0.5, high=5), uniform(9, low=0.05, high=0.95)
X = normal(9, scale=2)

SPECIAL = {
    "bernoulli": (lambda: special.bernoulli(6),), "beta": (special.beta, P, Q), "betainc": (special.betainc, P, Q, U), "betaln": (special.betaln, P, Q), "comb": (special.comb, uniform(5, low=5, high=9), uniform(5, low=1, high=4)),
    "digamma": (special.digamma, P), "digamma_negative": (special.digamma, uniform(9, low=-4.9, high=-0.1)), "entr": (special.entr, P), "erf": (special.erf, X),
    "erfc": (special.erfc, X), "erfcx": (special.erfcx, X), "erfinv": (special.erfinv, uniform(9, low=-0.95, high=0.95)), "exp1": (special.exp1, P), "expi": (special.expi, P),
    "expit": (special.expit, X), "expn": (special.expn, integers(9, low=1, high=5), P), "factorial": (special.factorial, uniform(9, low=0, high=6)),
    "fresnel": (special.fresnel, X), "gamma": (special.gamma, P), "gamma_negative": (special.gamma, uniform(9, low=-3.9, high=-0.1)), "gammainc": (special.gammainc, P, Q),
    "gammaincc": (special.gammaincc, P, Q), "gammaln": (special.gammaln, uniform(9, low=-4.9, high=9)), "gammasgn": (special.gammasgn, X), "hyp1f1": (special.hyp1f1, P, Q, U),
    "hyp2f1": (special.hyp2f1, P, Q, uniform(9, low=5, high=6), uniform(9, high=0.4)), "i0": (special.i0, X), "i0e": (special.i0e, X), "i1": (special.i1, X), "i1e": (special.i1e, X),
    "kl_div": (special.kl_div, P, Q), "log_ndtr": (special.log_ndtr, normal(9, scale=6)), "log_softmax": (special.log_softmax, X), "logit": (special.logit, U),
    "logsumexp": (special.logsumexp, X), "lpmn_values": (lambda x: special.sph_harm_y(jnp.array([2]), jnp.array([1]), x[:1], x[1:2], n_max=3), U),
    "multigammaln": (lambda a: special.multigammaln(a + 3, 3), P), "ndtr": (special.ndtr, X), "ndtri": (special.ndtri, U), "poch": (special.poch, P, Q), "polygamma": (special.polygamma, 2, P),
    "rel_entr": (special.rel_entr, P, Q), "softmax": (special.softmax, X), "spence": (special.spence, P), "wofz": (special.wofz, normal(9, dtype="complex64")),
    "sici": (special.sici, X), "xlog1py": (special.xlog1py, P, Q), "xlogy": (special.xlogy, P, Q), "zeta": (special.zeta, uniform(9, low=1.5, high=9), P),
    "bessel_jn": (lambda x: special.bessel_jn(x, v=3), P), "log1pmx": (lambda x: special.xlog1py(x, -0.5), P),
}  # fmt: skip

DISTRIBUTIONS = {
    "norm": lambda x: (
        [f(x, 0.5, 2.0) for f in (stats.norm.pdf, stats.norm.logpdf, stats.norm.cdf, stats.norm.logcdf, stats.norm.sf)]
        + [stats.norm.ppf(special.expit(x))]
    ),
    "beta": lambda x: [f(special.expit(x), 2.0, 3.0) for f in (stats.beta.pdf, stats.beta.logpdf, stats.beta.cdf)],
    "gamma": lambda x: [
        f(jnp.abs(x), 2.0) for f in (stats.gamma.pdf, stats.gamma.logpdf, stats.gamma.cdf, stats.gamma.sf)
    ],
    "t": lambda x: [stats.t.pdf(x, 3.0), stats.t.logpdf(x, 3.0)],
    "laplace": lambda x: [stats.laplace.pdf(x), stats.laplace.cdf(x)],
    "logistic": lambda x: [
        f(x) for f in (stats.logistic.pdf, stats.logistic.cdf, stats.logistic.sf, stats.logistic.logpdf)
    ],
    "cauchy": lambda x: [stats.cauchy.pdf(x), stats.cauchy.cdf(x), stats.cauchy.logsf(x)],
    "expon": lambda x: [stats.expon.pdf(jnp.abs(x)), stats.expon.cdf(jnp.abs(x)), stats.expon.logpdf(x)],
    "uniform": lambda x: [stats.uniform.pdf(x), stats.uniform.cdf(x), stats.uniform.logpdf(x)],
    "chi2": lambda x: [stats.chi2.pdf(jnp.abs(x), 3.0), stats.chi2.cdf(jnp.abs(x), 3.0)],
    "pareto": lambda x: [stats.pareto.pdf(jnp.abs(x) + 1, 2.0), stats.pareto.logpdf(x, 2.0)],
    "poisson": lambda x: [
        stats.poisson.pmf(jnp.floor(jnp.abs(x)), 2.0),
        stats.poisson.logpmf(jnp.floor(jnp.abs(x)), 2.0),
        stats.poisson.cdf(jnp.abs(x), 2.0),
    ],
    "binom": lambda x: [
        stats.binom.pmf(jnp.floor(jnp.abs(x)), 7, 0.3),
        stats.binom.logpmf(jnp.floor(jnp.abs(x)), 7, 0.3),
    ],
    "bernoulli": lambda x: [stats.bernoulli.pmf(x > 0, 0.3), stats.bernoulli.cdf(x, 0.3)],
    "geom": lambda x: [stats.geom.pmf(jnp.floor(jnp.abs(x)) + 1, 0.3)],
    "nbinom": lambda x: [stats.nbinom.pmf(jnp.floor(jnp.abs(x)), 4.0, 0.3)],
    "truncnorm": lambda x: [stats.truncnorm.pdf(x, -1.0, 2.0), stats.truncnorm.cdf(x, -1.0, 2.0)],
    "gennorm": lambda x: [stats.gennorm.pdf(x, 1.5), stats.gennorm.cdf(x, 1.5)],
    "vonmises": lambda x: [stats.vonmises.pdf(x, 2.0), stats.vonmises.logpdf(x, 2.0)],
    "wrapcauchy": lambda x: [stats.wrapcauchy.pdf(jnp.abs(x), 0.5)],
    "multivariate_normal": lambda x: [
        stats.multivariate_normal.logpdf(x[:3], jnp.zeros(3), jnp.diag(jnp.array([1.0, 2, 3])))
    ],
    "dirichlet": lambda x: [stats.dirichlet.logpdf(special.softmax(x[:3]), jnp.array([1.0, 2, 3]))],
    "multinomial": lambda x: [stats.multinomial.logpmf(jnp.array([1, 2, 3]), 6, special.softmax(x[:3]))],
    "kde": lambda x: [stats.gaussian_kde(x)(x[:3])],
    "moments": lambda x: [stats.mode(jnp.round(x)), stats.rankdata(x), stats.sem(x)],
}

ND = normal(5, 6)


def near(name, function, *arguments, tolerance=(2e-5, 2e-6), because=ROUNDING, **options):
    return case(name, function, *arguments, tolerance=tolerance, because=because, **options)


CASES = [
    *(
        case(f"special_{name}", f, *arguments, tolerance=(2e-4, 2e-5), because=SERIES)
        for name, (f, *arguments) in SPECIAL.items()
    ),
    *(case(f"stats_{name}", f, X, tolerance=(1e-4, 1e-5), because=SERIES) for name, f in DISTRIBUTIONS.items()),
    *(
        case(
            f"special_gradient_{f.__name__}",
            lambda x, f=f: jax.vmap(jax.grad(f))(x),
            U,
            tolerance=(2e-4, 2e-5),
            because=SERIES,
        )
        for f in (
            special.gammaln,
            special.digamma,
            special.erf,
            special.erfinv,
            special.ndtri,
            special.i0e,
            special.i1,
            special.expit,
            special.log_ndtr,
            special.spence,
        )
    ),
    *(
        case(
            f"special_double_{f.__name__}",
            f,
            uniform(9, low=0.1, high=0.9, dtype="float64"),
            x64=True,
            tolerance=(1e-10, 1e-11),
            because="series in f64",
        )
        for f in (
            special.gammaln,
            special.digamma,
            special.erf,
            special.erfc,
            special.erfinv,
            special.ndtri,
            special.i0e,
            special.i1e,
            special.log_ndtr,
            special.spence,
            special.expi,
        )
    ),
    case(
        "special_double_incomplete",
        lambda a, b, x: (
            special.gammainc(a, b),
            special.gammaincc(a, b),
            special.betainc(a, b, x),
            special.zeta(a + 1, b),
            special.polygamma(1, a),
        ),
        *(uniform(9, low=0.2, high=0.9, dtype="float64") for _ in range(3)),
        x64=True,
        tolerance=(1e-9, 1e-10),
        because="series in f64",
    ),
    *(
        case(
            f"special_{t}",
            lambda x: (special.gammaln(x), special.digamma(x), special.erf(x), special.erfinv(x), special.erfc(x)),
            uniform(9, low=0.1, high=0.9, dtype=t),
            tolerance=(r, r),
            because="computed in f32, rounded twice at some places",
        )
        for t, r in (("float16", 4e-3), ("bfloat16", 2e-2))
    ),
    *(
        near(
            f"convolve_{m}",
            lambda x, y, m=m: (signal.convolve(x, y, m), signal.correlate(x, y, m)),
            normal(9),
            normal(4),
        )
        for m in ("full", "same", "valid")
    ),
    *(
        near(
            f"convolve2d_{m}",
            lambda x, y, m=m: (signal.convolve2d(x, y, m), signal.correlate2d(x, y, m)),
            ND,
            normal(3, 2),
        )
        for m in ("full", "same", "valid")
    ),
    near("fftconvolve", lambda x, y: signal.fftconvolve(x, y, "same"), ND, normal(3, 2), tolerance=(1e-4, 1e-5)),
    near("detrend", lambda x: (signal.detrend(x), signal.detrend(x, type="constant")), ND),
    near("stft", lambda x: signal.stft(x, nperseg=8), normal(40), tolerance=(1e-4, 1e-5)),
    near("istft", lambda x: signal.istft(signal.stft(x, nperseg=8)[2], nperseg=8), normal(40), tolerance=(1e-4, 1e-5)),
    near("welch", lambda x: signal.welch(x, nperseg=8), normal(40), tolerance=(1e-4, 1e-5)),
    near("csd", lambda x, y: signal.csd(x, y, nperseg=8), normal(40), normal(40), tolerance=(1e-4, 1e-5)),
    near("dct", lambda x: (fft.dct(x), fft.idct(x), fft.dctn(x), fft.dct(x, norm="ortho")), ND, tolerance=(1e-4, 1e-5)),
    near("trapezoid", lambda x: jax.scipy.integrate.trapezoid(x, dx=0.1), ND),
    near("vector_quantization", vq.vq, normal(9, 3), normal(4, 3)),
    near(
        "regular_grid",
        lambda v, x: RegularGridInterpolator((jnp.arange(5.0), jnp.arange(6.0)), v)(x),
        ND,
        uniform(7, 2, low=0, high=4),
    ),
    near(
        "rotation",
        lambda q, v: Rotation.from_quat(q / jnp.linalg.norm(q)).apply(v),
        normal(4),
        normal(3),
        tolerance=(1e-4, 1e-5),
    ),
    near("rotation_euler", lambda v: Rotation.from_rotvec(v).as_euler("xyz"), normal(3), tolerance=(1e-4, 1e-5)),
]
