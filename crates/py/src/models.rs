//! Loss models, queue disciplines and congestion controllers written in Python.
//!
//! Each decision is a call of a Python method, for which the interpreter's lock is taken. The first
//! exception is kept; from then on no method is called, and the run stops.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use link::{Admission, CustomDiscipline, CustomLoss, Factory};
use policy::congestion::{AnyController, ControllerFactory, MAX_WINDOW};
use policy::{AckSample, CongestionController, Growth, LossSample};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3::{IntoPyObjectExt, intern};
use sim::{CustomModels, PacketNames, Scenario, Seed};

use crate::facts::{AckFacts, ControllerStart, PacketFacts, Place, QueueFacts, ReductionFacts};

/// The callables that make models, by name of link or workload.
pub(crate) struct Models {
    pub(crate) loss: Vec<(String, Py<PyAny>)>,
    pub(crate) queue: Vec<(String, Py<PyAny>)>,
    pub(crate) controllers: Vec<(String, Py<PyAny>)>,
}

impl Models {
    /// Converts the callables to factories, whose models report exceptions to `failure`.
    pub(crate) fn into_custom(
        self,
        scenario: &Scenario,
        seed: Seed,
        failure: &Arc<Failure>,
    ) -> CustomModels {
        let on_link = |link: &str, names: PacketNames, make: Py<PyAny>| Source {
            at: Arc::new(Place { link: link.to_owned(), names }),
            make,
            failure: Arc::clone(failure),
        };
        let loss = |(link, make): (String, Py<PyAny>)| {
            let source = on_link(&link, PacketNames::of_loss(scenario, seed, &link), make);
            (link, Factory::new(move || -> Box<dyn CustomLoss> { Box::new(source.model("loses")) }))
        };
        let queue = |(link, make): (String, Py<PyAny>)| {
            let source = on_link(&link, PacketNames::of_queue(scenario, seed, &link), make);
            let make = move || -> Box<dyn CustomDiscipline> { Box::new(source.model("decide")) };
            (link, Factory::new(make))
        };
        let controller = |(workload, make): (String, Py<PyAny>)| {
            let failure = Arc::clone(failure);
            let factory = ControllerFactory::new(move |start| {
                AnyController::other(Controller::new(&make, *start, &failure))
            });
            (workload, factory)
        };
        CustomModels {
            losses: self.loss.into_iter().map(loss).collect(),
            disciplines: self.queue.into_iter().map(queue).collect(),
            controllers: self.controllers.into_iter().map(controller).collect(),
        }
    }
}

/// The first exception of the models of a run.
#[derive(Debug, Default)]
pub(crate) struct Failure(Mutex<State>);

#[derive(Debug, Default)]
enum State {
    #[default]
    Fine,
    Failed(PyErr),
    Raised,
}

impl Failure {
    /// Returns true if a model has raised an exception.
    pub(crate) fn has_failed(&self) -> bool {
        !matches!(*self.state(), State::Fine)
    }

    /// Raises the exception, the first time after it has occurred.
    pub(crate) fn raise(&self) -> PyResult<()> {
        let mut state = self.state();
        match std::mem::take(&mut *state) {
            State::Fine => Ok(()),
            State::Raised => {
                *state = State::Raised;
                Ok(())
            }
            State::Failed(error) => {
                *state = State::Raised;
                Err(error)
            }
        }
    }

    /// Calls Python unless a model has failed. An exception makes the result `None`.
    fn call<T>(&self, act: impl FnOnce(Python<'_>) -> PyResult<T>) -> Option<T> {
        if self.has_failed() {
            return None;
        }
        Python::attach(act).map_err(|error| *self.state() = State::Failed(error)).ok()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The origin of a link's models.
struct Source {
    make: Py<PyAny>,
    at: Arc<Place>,
    failure: Arc<Failure>,
}

impl Source {
    /// Makes a model, which decides with `method`.
    fn model(&self, method: &'static str) -> LinkModel {
        let Self { make, at, failure } = self;
        let decide = failure.call(|py| Ok(method_of(&make.bind(py).call0()?, method)?.unbind()));
        LinkModel { decide, at: Arc::clone(at), failure: Arc::clone(failure) }
    }
}

/// A loss model or a discipline: the bound method that decides.
#[derive(Debug)]
struct LinkModel {
    decide: Option<Py<PyAny>>,
    at: Arc<Place>,
    failure: Arc<Failure>,
}

impl CustomLoss for LinkModel {
    fn loses(&mut self, facts: &link::LossFacts) -> bool {
        let Self { decide: Some(decide), at, failure } = self else { return false };
        let lost = failure.call(|py| {
            let answer = decide.bind(py).call1((PacketFacts::of_loss(facts, at),))?;
            answer.extract().map_err(|_| bad_answer(decide.bind(py), &answer, "`True` or `False`"))
        });
        lost.unwrap_or(false)
    }
}

impl CustomDiscipline for LinkModel {
    fn decide(&mut self, facts: &link::QueueFacts) -> Admission {
        let Self { decide: Some(decide), at, failure } = self else { return Admission::Accept };
        let admission = failure.call(|py| {
            let answer = decide.bind(py).call1((Py::new(py, QueueFacts::new(facts, at))?,))?;
            let admission = match answer.extract() {
                Ok("accept") => Some(Admission::Accept),
                Ok("mark") => Some(Admission::Mark),
                Ok("drop") => Some(Admission::Drop),
                Ok(_) | Err(_) => None,
            };
            let expected = "`accept`, `mark` or `drop`";
            admission.ok_or_else(|| bad_answer(decide.bind(py), &answer, expected))
        });
        admission.unwrap_or(Admission::Accept)
    }
}

/// A congestion controller with copies of its window and threshold.
#[derive(Debug)]
struct Controller {
    /// `None` if it could not be made.
    object: Option<Py<PyAny>>,
    cwnd: u32,
    ssthresh: u32,
    failure: Arc<Failure>,
}

/// The methods of a controller.
const METHODS: [&str; 6] = ["on_ack", "observe", "on_loss", "on_mark", "on_timeout", "set_cwnd"];

impl Controller {
    fn new(
        make: &Py<PyAny>,
        start: policy::congestion::ControllerStart,
        failure: &Arc<Failure>,
    ) -> Self {
        let object = failure.call(|py| {
            let object = make.bind(py).call1((ControllerStart(start),))?;
            for method in METHODS {
                method_of(&object, method)?;
            }
            Ok(object.unbind())
        });
        let (cwnd, ssthresh) = (start.initial_window, start.rules.ssthresh);
        let mut controller = Self { object, cwnd, ssthresh, failure: Arc::clone(failure) };
        controller.call(|object| read_windows(object).map(|windows| (windows, false)));
        controller
    }

    /// Calls the controller and reads its window. Returns the result of the call.
    fn call(
        &mut self,
        act: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<((u32, u32), bool)>,
    ) -> bool {
        let Some(object) = &self.object else { return false };
        let found = self.failure.call(|py| act(object.bind(py)));
        let Some(((cwnd, ssthresh), answer)) = found else { return false };
        (self.cwnd, self.ssthresh) = (cwnd, ssthresh);
        answer
    }

    /// Calls a method whose result has no meaning.
    fn tell<A: for<'py> IntoPyObject<'py>>(
        &mut self,
        method: &'static str,
        facts: impl FnOnce() -> A,
    ) {
        self.call(|object| {
            let facts = facts().into_bound_py_any(object.py())?;
            object.call_method1(method, (facts,))?;
            Ok((read_windows(object)?, false))
        });
    }
}

impl CongestionController for Controller {
    fn cwnd(&self) -> u32 {
        self.cwnd
    }

    fn ssthresh(&self) -> u32 {
        self.ssthresh
    }

    fn on_ack(&mut self, ack: &AckSample, growth: Growth) {
        self.tell("on_ack", || AckFacts { sample: *ack, growth: Some(growth) });
    }

    fn observe(&mut self, ack: &AckSample) {
        self.tell("observe", || AckFacts { sample: *ack, growth: None });
    }

    fn on_loss(&mut self, loss: &LossSample) {
        self.tell("on_loss", || ReductionFacts(*loss));
    }

    fn on_mark(&mut self, loss: &LossSample) -> bool {
        self.call(|object| {
            let method = object.getattr(intern!(object.py(), "on_mark"))?;
            let answer = method.call1((ReductionFacts(*loss),))?;
            let must_wait =
                answer.extract().map_err(|_| bad_answer(&method, &answer, "`True` or `False`"))?;
            Ok((read_windows(object)?, must_wait))
        })
    }

    fn on_timeout(&mut self, loss: &LossSample) {
        self.tell("on_timeout", || ReductionFacts(*loss));
    }

    fn set_cwnd(&mut self, bytes: u32) {
        self.tell("set_cwnd", || bytes);
    }
}

/// The attributes `cwnd` and `ssthresh` of a controller, in bytes.
fn read_windows(object: &Bound<'_, PyAny>) -> PyResult<(u32, u32)> {
    let py = object.py();
    let cwnd = number(object, &object.getattr(intern!(py, "cwnd"))?, "cwnd", 1.0)?;
    let ssthresh = number(object, &object.getattr(intern!(py, "ssthresh"))?, "ssthresh", 0.0)?;
    Ok((cwnd, ssthresh))
}

/// A window in whole bytes. Values above the largest window count as the largest.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is from 0 to the largest window; fractions of a byte are dropped"
)]
fn number(
    object: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
    name: &str,
    least: f64,
) -> PyResult<u32> {
    match value.extract::<f64>() {
        Ok(bytes) if bytes >= least => Ok(bytes.min(f64::from(MAX_WINDOW)) as u32),
        _ => {
            let text = shown(value);
            let kind = object.get_type().fully_qualified_name()?;
            let message = format!(
                "cannot use a Python model: `{kind}.{name}` is {text}, expected a number of bytes, \
                 at least {least}"
            );
            Err(refusal(object.py(), message, "sizes and windows are in bytes, not in segments"))
        }
    }
}

/// The bound method of a model.
fn method_of<'py>(object: &Bound<'py, PyAny>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    match object.getattr_opt(name)? {
        Some(method) if method.is_callable() => Ok(method),
        _ => {
            let kind = object.get_type().fully_qualified_name()?;
            let message = format!("cannot use a Python model: `{kind}` has no method `{name}`");
            let hint = if METHODS.contains(&name) {
                "derive the class from `tcpsf.CongestionController`"
            } else {
                "pass the class or a function that makes the model, without calling it"
            };
            Err(refusal(object.py(), message, hint))
        }
    }
}

/// The error of a method that returned something else than `expected`.
fn bad_answer(method: &Bound<'_, PyAny>, answer: &Bound<'_, PyAny>, expected: &str) -> PyErr {
    let name =
        method.getattr("__qualname__").map_or_else(|_| shown(method), |name| name.to_string());
    let message = format!(
        "cannot use a Python model: `{name}` returned {}, expected {expected}",
        shown(answer)
    );
    refusal(method.py(), message, "each path through the method needs a `return`")
}

/// The value as Python prints it, on one line.
fn shown(value: &Bound<'_, PyAny>) -> String {
    let text = value.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string());
    let short: String = text.chars().filter(|c| !c.is_control()).take(60).collect();
    format!("`{short}`")
}

/// A `TcpsfError` with a hint.
pub(crate) fn refusal(py: Python<'_>, message: String, hint: &str) -> PyErr {
    let error = || -> PyResult<PyErr> {
        let class = py.import("tcpsf.errors")?.getattr("TcpsfError")?;
        let hints = PyDict::new(py);
        hints.set_item("hint", hint)?;
        Ok(PyErr::from_value(class.call((message,), Some(&hints))?))
    };
    error().unwrap_or_else(|error| error)
}
