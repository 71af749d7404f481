// Types of the module's requests and answers, written by `make docs` from crates/web.

/** Changes of a flow by the user. */
export interface Edits {
  /** Packets that are dropped. */
  drops?: PacketPlace[];
  /** Packets that are delayed. */
  delays?: Delayed[];
}

/** A packet on its first link. */
export interface PacketPlace {
  /** Name of the link. */
  link: string;
  /** Number of the packet on this link, from 0. */
  position: number;
}

/** A packet that is delayed. */
export interface Delayed {
  /** Name of the link. */
  link: string;
  /** Number of the packet on this link, from 0. */
  position: number;
  /** Additional delay in nanoseconds. */
  by_ns: number;
}

/** The result of a run: counts, and hashes of its rows. */
export interface RunAnswer {
  /** Number of events. */
  events: number;
  /** Number of flows with a row. */
  flows: number;
  /** Hash of the rows of flows, in hexadecimal notation. */
  flows_hash: string;
  /** Hash of the rows of recoveries. */
  recoveries_hash: string;
  /** Hash of the rows of samples. */
  samples_hash: string;
  /** Hash of the rows of packets of traced workloads. */
  packets_hash: string;
  /** Hash of the rows of links. */
  links_hash: string;
}

/** A flow of a run. */
export interface FlowAnswer {
  /** The scenario with the drops and delays. A simulation of it gives this flow. */
  scenario: unknown;
  /** Name of the flow's workload; null if the flow did not start. */
  workload: string | null;
  /** Number of the flow in its workload, from 0. */
  index: number | null;
  /** Name of the flow's sender. */
  sender: string;
  /** Size in bytes; null for an endless flow, or if the flow did not start. */
  size_bytes: number | null;
  /** Time of the start in seconds. */
  start_s: number | null;
  /** Time from the start until all data was acknowledged, in seconds. */
  sender_s: number | null;
  /** Time from the start until the receiver had all data, in seconds. */
  receiver_s: number | null;
  /** Number of data segments, with retransmissions and copies. */
  segments: number;
  /** Number of data segments sent again. */
  retransmitted_segments: number;
  /** Number of expiries of the retransmission timer, of the SYN too. */
  timeouts: number;
  /** Packets in the order of transmission. */
  packets: PacketAnswer[];
  /** Loss episodes as the analysis of the sender's capture finds them. */
  repairs: RepairAnswer[];
  /** Times in seconds at which the state of an end changed. */
  moments_s: number[];
  /** Whether the run was ended by its maximum number of events. */
  is_cut: boolean;
}

/** A packet. Sequence numbers are relative to the initial one of the end that counts them. */
export interface PacketAnswer {
  /** Number in the flow, from 0; both directions count together. */
  number: number;
  /** Whether the end that sends the flow's data has sent the packet. */
  is_forward: boolean;
  /** Name of the first link. */
  link: string;
  /** Number of the packet on this link, from 0. */
  position: number;
  /** Whether the first link is the only one. */
  is_single_hop: boolean;
  /** Time of the transmission in seconds. */
  sent_s: number;
  /** Time of the arrival or drop in seconds; null while in the network. */
  ended_s: number | null;
  /** `arrived`, `dropped-buffer`, `dropped-early`, `dropped-loss` or `in-network`. */
  fate: string;
  /** Whether a link marked the packet (ECN). */
  marked: boolean;
  /** `SYN`, `FIN`, `RST` or empty. */
  control: string;
  /** Sequence number. */
  seq: number;
  /** Number of payload bytes. */
  payload_bytes: number;
  /** Acknowledgment number. */
  ack: number | null;
  /** SACK blocks: sequence numbers of the first byte, and after the last one. */
  sack: [number, number][];
  /** Whether the packet carries sequence numbers that were sent before. */
  is_again: boolean;
  /** Number of the packet in the capture, from 1. */
  frame: number | null;
}

/** A loss episode: the loss, and what repaired it. */
export interface RepairAnswer {
  /** Number of the lost packet in the flow; null if it is not known. */
  lost: number | null;
  /** Number of the packet of the first repair. */
  repaired: number | null;
  /** Time of the first transmission of the lost data in seconds. */
  lost_s: number;
  /** Time of the first repair in seconds. */
  repaired_s: number;
  /** Time of the end of the recovery in seconds. */
  ended_s: number | null;
  /** Longest time from the first transmission of lost data to the one that arrived, in seconds. */
  delay_s: number;
  /** Name of the cause of the first repair, as in `tcpsf analyze --json`. */
  cause: string;
  /** Number of segments sent after the lost one and before its repair. */
  following: number;
  /** Whether all retransmissions were unnecessary. */
  is_spurious: boolean;
  /** Retransmissions in their order. */
  retransmissions: RepetitionAnswer[];
}

/** A retransmission with its cause. */
export interface RepetitionAnswer {
  /** Number of the packet in the flow. */
  packet: number | null;
  /** Time in seconds. */
  at_s: number;
  /** Name of the cause. */
  cause: string;
  /** Whether there is evidence that it was not necessary. */
  is_spurious: boolean;
}

/** The state of both ends. Sequence numbers are relative to the initial one of the sender. */
export interface MomentAnswer {
  /** Time of the event that led to this state, in seconds. */
  at_s: number;
  /** Congestion window in bytes. */
  cwnd_bytes: number;
  /** Slow start threshold in bytes; null before the first reduction. */
  ssthresh_bytes: number | null;
  /** `FlightSize` (RFC 5681) in bytes. */
  flight_bytes: number;
  /** Bytes that count against the congestion window. */
  pipe_bytes: number;
  /** Maximum payload of the next segment in bytes. */
  segment_bytes: number;
  /** SND.UNA, SND.NXT. */
  una: number;
  /** SND.NXT. */
  nxt: number;
  /** Window of the receiver in bytes. */
  wnd_bytes: number;
  /** Number of duplicate acknowledgments since SND.UNA advanced. */
  duplicates: number;
  /** Whether fast recovery is active. */
  recovering: boolean;
  /** State of congestion control of a sender that counts packets, with the names of Linux. */
  congestion: string | null;
  /** Running timers of both ends. */
  timers: TimerAnswer[];
  /** Retransmission queue with the marks of the scoreboard, oldest segment first. */
  queue: QueuedAnswer[];
  /** State of RACK; null for a sender without it. */
  rack: RackAnswer | null;
}

/** A running timer. */
export interface TimerAnswer {
  /** Whether it is a timer of the end that sends the flow's data. */
  is_sender: boolean;
  /** Name of the timer. */
  name: string;
  /** Time of the expiry in seconds. */
  at_s: number;
}

/** A segment that is sent and not acknowledged. */
export interface QueuedAnswer {
  /** First sequence number. */
  seq: number;
  /** Number of sequence numbers. */
  length: number;
  /** Time of the last transmission in seconds. */
  sent_s: number;
  /** Whether the receiver has reported its arrival. */
  reported: boolean;
  /** Whether it counts as lost. */
  lost: boolean;
  /** Whether it was retransmitted. */
  resent: boolean;
}

/** State of RACK (RFC 8985 §5.2). */
export interface RackAnswer {
  /** `RACK.xmit_ts` in seconds. */
  xmit_s: number;
  /** `RACK.end_seq`, as the first sequence number of that segment. */
  seq: number;
  /** `RACK.rtt` in seconds. */
  rtt_s: number;
  /** `RACK.reo_wnd` in seconds. */
  reordering_window_s: number;
}

/** The text of a scenario file. */
export interface TomlAnswer {
  /** The text, in TOML. */
  text: string;
}

/** A run that has begun. */
export interface StartedAnswer {
  /** Time over which statistics are collected, in seconds. */
  duration_s: number;
}

/** Rows since the last step. Columns have one value for each row. */
export interface LiveAnswer {
  /** Whether the run has ended. */
  is_done: boolean;
  /** Simulated time in seconds. */
  now_s: number;
  /** Number of events so far. */
  events: number;
  /** Number of active flows. */
  active_flows: number;
  /** Times of the samples in seconds. */
  sample_s: number[];
  /** Objects of the samples: a link, or a flow such as `web/3`. */
  sample_of: string[];
  /** Quantities of the samples, as in the table `samples`. */
  sample_quantity: string[];
  /** Values of the samples. */
  sample_value: number[];
  /** Workloads of the flows that have ended. */
  flow_workload: string[];
  /** Senders of these flows. */
  flow_sender: string[];
  /** Sizes of these flows in bytes; null for an endless flow. */
  flow_size_bytes: (number | null)[];
  /** Starts of these flows in seconds. */
  flow_start_s: number[];
  /** Completion times of these flows at the sender in seconds; null if incomplete. */
  flow_sender_s: (number | null)[];
  /** Numbers of timeouts of these flows. */
  flow_timeouts: number[];
  /** Numbers of fast retransmits of these flows. */
  flow_fast_retransmits: number[];
  /** Links with their counts so far. */
  links: LiveLink[];
}

/** Counts of a link so far. */
export interface LiveLink {
  /** Name of the link. */
  link: string;
  /** Number of packets offered. */
  offered_packets: number;
  /** Number of packets that the buffer or its discipline dropped. */
  dropped_packets: number;
  /** Number of packets lost on the line. */
  lost_packets: number;
  /** Share of the time in which the line was sending. */
  utilisation: number;
}

/** The result of the analysis so far. */
export interface CaptureAnswer {
  /** Whether the file has been read. */
  is_done: boolean;
  /** Number of packets read. */
  packets: number;
  /** Number of these with TCP. */
  tcp_packets: number;
  /** Position in the decompressed file in bytes. */
  offset_bytes: number;
  /** Time from the first packet to the last one in seconds. */
  duration_s: number;
  /** Position and reason of damage. */
  damage: string | null;
  /** Number of connections. */
  connections: number;
  /** Payload bytes, with those sent again. */
  payload_bytes: number;
  /** Payload bytes sent again. */
  retransmitted_bytes: number;
  /** Causes of first repairs with their episodes. */
  causes: CauseAnswer[];
  /** The longest episodes, longest first; only when the file has been read. */
  episodes: EpisodeRow[];
  /** The connections with the longest episodes, then those with the most bytes; only when the file has been read. */
  flows: ConnectionRow[];
}

/** Episodes whose first repair has one cause. */
export interface CauseAnswer {
  /** Name of the cause. */
  cause: string;
  /** Number of episodes. */
  episodes: number;
  /** Number of episodes in which no segment followed the lost one. */
  at_the_tail: number;
  /** Number of episodes in which no retransmission was necessary. */
  spurious: number;
  /** Median of the delays of the other episodes in seconds. */
  median_s: number | null;
  /** 99th percentile of these delays. */
  p99_s: number | null;
  /** Maximum of these delays. */
  max_s: number | null;
  /** Sum of these delays. */
  total_s: number;
}

/** A loss episode. */
export interface EpisodeRow {
  /** Number of the connection. */
  flow: number;
  /** Time of the first transmission of the lost data in seconds. */
  lost_s: number;
  /** Delay of the lost data in seconds. */
  delay_s: number;
  /** Name of the cause of the first repair. */
  cause: string;
  /** Number of segments after the lost one. */
  following: number;
  /** Number of the packet of the first repair. */
  repaired_frame: number;
}

/** A connection. */
export interface ConnectionRow {
  /** Number of the connection. */
  flow: number;
  /** Address and port of the end that sent the most data. */
  source: string;
  /** Address and port of the other end. */
  destination: string;
  /** Time of the first packet in seconds. */
  start_s: number;
  /** Duration in seconds. */
  duration_s: number;
  /** Payload bytes of the direction with the most data. */
  payload_bytes: number;
  /** Payload bytes of this direction that were sent again. */
  retransmitted_bytes: number;
  /** Longest delay by a loss in seconds. */
  delay_s: number | null;
}

/** Packets of one connection, in the direction with the most data. Times are in seconds since its first packet, positions in bytes since its first byte. */
export interface ConnectionAnswer {
  /** Number of the connection. */
  flow: number;
  /** Segments: time, position of the first byte, position after the last one. */
  segments: [number, number, number][];
  /** Acknowledgments: time, position, end of the advertised window. */
  acknowledgments: [number, number, number][];
  /** SACK blocks: time, position of the first byte, position after the last one. */
  sack: [number, number, number][];
  /** Segments sent again. */
  again: RepeatedSegment[];
  /** Number of packets that are left out. */
  left_out: number;
}

/** A segment sent again. */
export interface RepeatedSegment {
  /** Time in seconds. */
  at_s: number;
  /** Position of the first byte. */
  first: number;
  /** Position after the last byte. */
  last: number;
  /** Name of the cause. */
  cause: string;
}

/** The answer to a request that cannot be carried out. */
export interface Refusal {
  /** The problem, on one line, with the key of the scenario or the name of the request. */
  error: string;
  /** Advice on how to correct it. */
  hint: string | null;
}

/** The answer to each kind of request. */
export interface Answers {
  run: RunAnswer;
  flow: FlowAnswer;
  moment: MomentAnswer;
  toml: TomlAnswer;
  start: StartedAnswer;
  advance: LiveAnswer;
  open: CaptureAnswer;
  analyze: CaptureAnswer;
  connection: ConnectionAnswer;
  refusal: Refusal;
}

/** A request. `scenario` is a scenario as JSON, with the keys of a scenario file. */
export type Request =
  /** Run a scenario to its end. */
  | {
    do: "run";
    /** The scenario. */
    scenario: unknown;
    /** Random seed. */
    seed: number;
  }
  /** Run a scenario until one flow has ended, and describe this flow. The flow is kept under the
number `view`. */
  | {
    do: "flow";
    /** Number under which the flow is kept. */
    view: number;
    /** The scenario. */
    scenario: unknown;
    /** Random seed. */
    seed: number;
    /** Name of the flow's workload. Absent: the first one. */
    workload?: string | null;
    /** Number of the flow in its workload, from 0. */
    index?: number;
    /** Number of the flow in the run, as in the rows of flows. Absent: `workload` and `index` choose the flow. */
    flow?: number | null;
    /** Packets to drop and to delay. */
    edits?: Edits;
  }
  /** The state of a kept flow at a time. */
  | {
    do: "moment";
    /** Number under which the flow is kept. */
    view: number;
    /** Time in seconds since the start of the run. */
    at_s: number;
  }
  /** The capture of the run of a kept flow, as the bytes of a pcapng file. */
  | {
    do: "capture";
    /** Number under which the flow is kept. */
    view: number;
  }
  /** The text of a scenario file. */
  | {
    do: "toml";
    /** The scenario. */
    scenario: unknown;
  }
  /** Begin a run that `advance` continues. */
  | {
    do: "start";
    /** The scenario. */
    scenario: unknown;
    /** Random seed. */
    seed: number;
  }
  /** Continue the run, and return the rows since the last call. */
  | {
    do: "advance";
    /** Maximum number of events. */
    events: number;
  }
  /** Begin the analysis of the file that the page has passed. */
  | {
    do: "open";
  }
  /** Continue the analysis. */
  | {
    do: "analyze";
    /** Maximum number of packets. */
    packets: number;
  }
  /** The packets of a connection of the analysed file. */
  | {
    do: "connection";
    /** Number of the connection. */
    flow: number;
  };
