//! Flow sizes: distributions sampled by inverting their cumulative distribution, with one uniform
//! value per size.
//!
//! A monotone function of one draw keeps runs comparable: the same draw gives the same size in
//! every variant. Sizes are whole bytes, rounded up, at least 1.

use thiserror::Error;

use crate::convert::{float, whole};

/// A sampler of flow sizes with a known mean.
#[derive(Debug, Clone, PartialEq)]
pub struct SizeSampler(Kind);

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    /// Sizes and the running sum of their weights.
    Classes {
        sizes: Vec<u64>,
        cumulative: Vec<f64>,
    },
    Fixed(u64),
    Exponential {
        mean: f64,
    },
    Pareto {
        mean: f64,
        shape: f64,
    },
    Lognormal {
        median: f64,
        sigma: f64,
    },
    Cdf(Vec<(u64, f64)>),
}

/// An invalid size distribution. `key` is the invalid parameter as the scenario spells it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{key}: {problem}")]
pub struct SizeError {
    /// The invalid parameter, for instance `weights` or `pareto.shape`.
    pub key: String,
    /// The description of the error.
    pub problem: String,
}

impl SizeSampler {
    /// The largest size and mean accepted: 1 PB, far below the limit to which doubles are exact.
    const LARGEST: u64 = 1_000_000_000_000_000;

    /// One of `sizes` in bytes, with equal probability or in proportion to `weights`.
    ///
    /// # Errors
    /// If there is no size, one is out of range, or the weights do not fit the sizes.
    pub fn classes(sizes: &[u64], weights: Option<&[f64]>) -> Result<Self, SizeError> {
        if sizes.is_empty() {
            return Err(error("classes", "empty"));
        }
        for (i, &size) in sizes.iter().enumerate() {
            in_bytes(&format!("classes[{i}]"), size)?;
        }
        let equal = vec![1.0; sizes.len()];
        let weights = weights.unwrap_or(&equal);
        if weights.len() != sizes.len() {
            let problem = format!("{} weights for {} classes", weights.len(), sizes.len());
            return Err(error("weights", &problem));
        }
        let mut cumulative = Vec::with_capacity(sizes.len());
        let mut sum = 0.0;
        for (i, &weight) in weights.iter().enumerate() {
            if !(weight >= 0.0 && weight.is_finite()) {
                return Err(error(
                    &format!("weights[{i}]"),
                    &format!("{weight} is not zero or more"),
                ));
            }
            sum += weight;
            cumulative.push(sum);
        }
        if !(sum > 0.0 && sum.is_finite()) {
            return Err(error("weights", "must have a sum above zero"));
        }
        Ok(Self(Kind::Classes { sizes: sizes.to_vec(), cumulative }))
    }

    /// The constant `size`, in bytes.
    ///
    /// # Errors
    /// If `size` is out of range.
    pub fn fixed(size: u64) -> Result<Self, SizeError> {
        in_bytes("fixed", size)?;
        Ok(Self(Kind::Fixed(size)))
    }

    /// An exponential distribution with this mean, in bytes.
    ///
    /// # Errors
    /// If the mean is out of range.
    pub fn exponential(mean: f64) -> Result<Self, SizeError> {
        plausible("exponential", mean)?;
        Ok(Self(Kind::Exponential { mean }))
    }

    /// A Pareto distribution (type I) with this mean, in bytes, and shape. The smallest size is
    /// mean·(shape − 1)/shape.
    ///
    /// # Errors
    /// If the mean is out of range, or the shape is not above 1, where no mean exists.
    pub fn pareto(mean: f64, shape: f64) -> Result<Self, SizeError> {
        plausible("pareto.mean", mean)?;
        if !(shape > 1.0 && shape.is_finite()) {
            return Err(error(
                "pareto.shape",
                &format!("{shape} is not above 1, so there is no mean"),
            ));
        }
        Ok(Self(Kind::Pareto { mean, shape }))
    }

    /// A log-normal distribution with this median, in bytes. `sigma` is the standard deviation of
    /// the logarithm.
    ///
    /// # Errors
    /// If the median or the resulting mean is out of range, or `sigma` is negative.
    pub fn lognormal(median: f64, sigma: f64) -> Result<Self, SizeError> {
        plausible("lognormal.median", median)?;
        if !(sigma >= 0.0 && sigma.is_finite()) {
            return Err(error("lognormal.sigma", &format!("{sigma} is not zero or more")));
        }
        let sampler = Self(Kind::Lognormal { median, sigma });
        plausible("lognormal.sigma", sampler.mean())
            .map_err(|e| SizeError { problem: format!("mean {}", e.problem), ..e })?;
        Ok(sampler)
    }

    /// A distribution given by points (bytes, cumulative probability), linear in between. The first
    /// point's probability is that of its size.
    ///
    /// # Errors
    /// If either column decreases or the last probability is not 1.
    pub fn cdf(points: &[(u64, f64)]) -> Result<Self, SizeError> {
        let mut before = (0, 0.0);
        for (i, &(bytes, probability)) in points.iter().enumerate() {
            let key = format!("cdf[{i}]");
            in_bytes(&key, bytes)?;
            if !(0.0..=1.0).contains(&probability) {
                return Err(error(
                    &key,
                    &format!("{probability} is not a probability from 0 to 1"),
                ));
            }
            if bytes < before.0 || probability < before.1 {
                return Err(error(&key, "goes back: sizes and probabilities must not decrease"));
            }
            before = (bytes, probability);
        }
        if before.1 < 1.0 {
            return Err(error("cdf", "must end at probability 1"));
        }
        Ok(Self(Kind::Cdf(points.to_vec())))
    }

    /// The size for a `uniform` value in [0, 1), and for classes its number from 1.
    pub fn sample(&self, uniform: f64) -> (u64, Option<u32>) {
        let bytes = match &self.0 {
            Kind::Classes { sizes, cumulative } => {
                let total = cumulative[cumulative.len() - 1];
                // Rounding may make the product equal to the total: use the last class with a
                // weight.
                let index = cumulative.partition_point(|&sum| sum <= uniform * total);
                let index = index.min(cumulative.partition_point(|&sum| sum < total));
                return (sizes[index], u32::try_from(index + 1).ok());
            }
            Kind::Fixed(size) => return (*size, None),
            Kind::Exponential { mean } => -libm::log(1.0 - uniform) * mean,
            Kind::Pareto { mean, shape } => {
                mean * (shape - 1.0) / shape * libm::pow(1.0 - uniform, -1.0 / shape)
            }
            Kind::Lognormal { median, sigma } => {
                median * libm::exp(sigma * normal_quantile(uniform))
            }
            Kind::Cdf(points) => interpolate(points, uniform),
        };
        (whole(bytes.ceil()).max(1), None)
    }

    /// The mean in bytes, which converts a load to an arrival rate.
    ///
    /// Exact for classes and fixed sizes. For the others it is the mean before rounding up to whole
    /// bytes (for a `cdf` the trapezoids' mean), about half a byte below the mean of the sampled
    /// sizes.
    pub fn mean(&self) -> f64 {
        match &self.0 {
            Kind::Classes { sizes, cumulative } => {
                let (mut sum, mut before) = (0.0, 0.0);
                for (&size, &upto) in sizes.iter().zip(cumulative) {
                    sum += float(size) * (upto - before);
                    before = upto;
                }
                sum / before
            }
            Kind::Fixed(size) => float(*size),
            Kind::Exponential { mean } | Kind::Pareto { mean, .. } => *mean,
            Kind::Lognormal { median, sigma } => median * libm::exp(sigma * sigma / 2.0),
            Kind::Cdf(points) => {
                let (first, probability) = points[0];
                let steps = points.windows(2).map(|pair| {
                    (pair[1].1 - pair[0].1) * (float(pair[0].0) + float(pair[1].0)) / 2.0
                });
                float(first) * probability + steps.sum::<f64>()
            }
        }
    }
}

/// The size at which the linear interpolation of `points` reaches `uniform`.
fn interpolate(points: &[(u64, f64)], uniform: f64) -> f64 {
    let above = points.partition_point(|&(_, probability)| probability <= uniform);
    let upper = points[above.min(points.len() - 1)];
    let Some(lower) = above.checked_sub(1).map(|i| points[i]) else { return float(upper.0) };
    let share = (uniform - lower.1) / (upper.1 - lower.1);
    float(lower.0) + (float(upper.0) - float(lower.0)) * share
}

/// The quantile `p` of the standard normal distribution.
///
/// Abramowitz and Stegun 26.2.23 has an error of 4.5e-4. Each Halley step on the complementary
/// error function cubes the error, so two steps reach the precision of a double.
fn normal_quantile(p: f64) -> f64 {
    // Replace a uniform value of zero by half the step of 2^-53.
    let tail = p.min(1.0 - p).max(0.5 / float(1 << 53));
    let t = (-2.0 * libm::log(tail)).sqrt();
    let numerator = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let denominator = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    let mut z = t - numerator / denominator;
    for _ in 0..2 {
        let excess = libm::erfc(z * std::f64::consts::FRAC_1_SQRT_2) / 2.0 - tail;
        let step = excess * (2.0 * std::f64::consts::PI).sqrt() * libm::exp(z * z / 2.0);
        z += step / (1.0 - z * step / 2.0);
    }
    if p < 0.5 { -z } else { z }
}

fn in_bytes(key: &str, size: u64) -> Result<(), SizeError> {
    if (1..=SizeSampler::LARGEST).contains(&size) {
        return Ok(());
    }
    Err(error(key, &format!("{size} is not a size from 1 B to 1 PB")))
}

fn plausible(key: &str, bytes: f64) -> Result<(), SizeError> {
    if (1.0..=float(SizeSampler::LARGEST)).contains(&bytes) {
        return Ok(());
    }
    Err(error(key, &format!("{bytes:?} is not a size from 1 B to 1 PB")))
}

fn error(key: &str, problem: &str) -> SizeError {
    SizeError { key: key.to_owned(), problem: problem.to_owned() }
}

#[cfg(test)]
mod tests;
