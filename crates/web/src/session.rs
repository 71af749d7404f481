//! The state of a page: kept flows, the run in progress, the open capture.

use std::collections::BTreeMap;

use serde::Serialize;
use sim::watched::FlowName;

use crate::captured::OpenCapture;
use crate::error::Refusal;
use crate::flow::{KeptFlow, flow_of_workload};
use crate::live::Live;
use crate::request::Request;
use crate::run;
use crate::scenario::{parsed, toml_of};

/// Answers the requests of one page.
#[derive(Debug, Default)]
pub struct Session {
    flows: BTreeMap<u8, KeptFlow>,
    live: Option<Live>,
    capture: Option<OpenCapture>,
}

impl Session {
    /// Answers a request. `file` has the bytes of a file for the request `open`; it is empty
    /// otherwise. The answer is JSON (a [`Refusal`] if the request cannot be carried out), or the
    /// bytes of a file for the request `capture`.
    pub fn answer(&mut self, request: &[u8], file: Vec<u8>) -> Vec<u8> {
        self.reply(request, file).unwrap_or_else(|refusal| json(&refusal).unwrap_or_default())
    }

    fn reply(&mut self, request: &[u8], file: Vec<u8>) -> Result<Vec<u8>, Refusal> {
        let request: Request = serde_json::from_slice(request)
            .map_err(|error| Refusal::new(format!("request: {error}"), "see `tcpsf.d.ts`"))?;
        match request {
            Request::Run { scenario, seed } => json(&run::run(&parsed(scenario)?, seed)?),
            Request::Flow { view, scenario, seed, workload, index, flow, edits } => {
                let scenario = parsed(scenario)?;
                let flow = match flow {
                    Some(number) => FlowName::InRun(number),
                    None => flow_of_workload(&scenario, workload.as_deref(), index)?,
                };
                let kept = KeptFlow::new(scenario, seed, flow, &edits)?;
                let answer = kept.answer()?;
                self.flows.insert(view, kept);
                json(&answer)
            }
            Request::Moment { view, at_s } => json(&self.kept(view)?.moment(at_s)?),
            Request::Capture { view } => Ok(self.kept(view)?.capture().to_vec()),
            Request::Toml { scenario } => json(&toml_of(scenario)?),
            Request::Start { scenario, seed } => {
                let (live, answer) = Live::start(&parsed(scenario)?, seed)?;
                self.live = Some(live);
                json(&answer)
            }
            Request::Advance { events } => {
                let live = self.live.as_mut().ok_or_else(|| {
                    Refusal::new("advance: no run was started", "send the request `start` first")
                })?;
                json(&live.advance(events))
            }
            Request::Open {} => {
                let open = self.capture.insert(OpenCapture::new(file)?);
                json(&open.advance(0))
            }
            Request::Analyze { packets } => json(&self.open()?.advance(packets)),
            Request::Connection { flow } => json(&self.open()?.connection(flow)?),
        }
    }

    fn kept(&self, view: u8) -> Result<&KeptFlow, Refusal> {
        self.flows.get(&view).ok_or_else(|| {
            Refusal::new(format!("view {view}: no flow is kept"), "send the request `flow` first")
        })
    }

    fn open(&mut self) -> Result<&mut OpenCapture, Refusal> {
        self.capture.as_mut().ok_or_else(|| {
            Refusal::new("analyze: no file is open", "send the request `open` first")
        })
    }
}

/// The bytes of a value as JSON.
fn json(value: &impl Serialize) -> Result<Vec<u8>, Refusal> {
    serde_json::to_vec(value)
        .map_err(|error| Refusal { error: format!("answer: {error}"), hint: None })
}
