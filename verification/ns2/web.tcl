# The network of the Smart Framing paper's section IV with Classic TCP in ns-2: greedy flows and
# Poisson web flows of the fifteen sizes of its Table I over one drop-tail bottleneck.  Prints one
# JSON object on stdout.
#
#   ns web.tcl load=0.8 duration=1000 seed=1 profile=2002
#
# README.md in this folder describes the meaning of each setting in ns-2 and the reason for its
# value.

# ---- options ---------------------------------------------------------------------------------------------------------

array set opt {
    load 0.8            flow_rate -1        duration 1000       warm_up 0           seed 1
    rate 10e6           delay 0.05          buffer 150000       reverse_rate 10e6
    mss 1460            header 40           sizes {}            greedy 10           spread 1
    starts {}           profile 2002        window 10000        iw 1                limited_transmit 0
    tick -1             rto_min -1          rto_max -1          rto_initial -1      precise_halving 1
    reuse reset         reseed 0            monitor 1           flows {}            events {}           windows {}
}
foreach argument $argv {
    if {![regexp {^([a-z_]+)=(.*)$} $argument - key value] || ![info exists opt($key)]} {
        puts stderr "web.tcl: unknown argument `$argument'"
        puts stderr "hint: arguments are key=value with a key of: [lsort [array names opt]]"
        exit 2
    }
    set opt($key) $value
}

# Table I, column "Bytes".
if {$opt(sizes) eq ""} {
    set opt(sizes) {119 179 251 334 428 529 658 948 1650 2861 4706 8015 13681 26641 284454}
}
set opt(sizes) [string map {, " "} $opt(sizes)]
set opt(starts) [string map {, " "} $opt(starts)]

# The retransmission timer: the defaults of ns-2.35, and those of the years of the paper.  The
# initial timeout of 3 s is the paper's.
array set timers_today {tick 0.01 rto_min 0.2 rto_max 60 rto_initial 3}
array set timers_2002  {tick 0.1  rto_min 1   rto_max 64 rto_initial 3}
if {$opt(profile) ni {today 2002}} {
    puts stderr "web.tcl: profile=$opt(profile) is neither `today' nor `2002'"
    exit 2
}
foreach key {tick rto_min rto_max rto_initial} {
    if {$opt($key) < 0} { set opt($key) [set timers_$opt(profile)($key)] }
}

# ---- ns-2's class defaults: an agent copies them when it is created ------------------------------

Agent/TCP set syn_ false                 ;# no handshake
Agent/TCP set delay_growth_ false
Agent/TCP set useHeaders_ false          ;# packetSize_ is the size of every packet on the wire
Agent/TCP set window_ $opt(window)       ;# also the initial ssthresh_
Agent/TCP set windowInit_ $opt(iw)
Agent/TCP set singledup_ $opt(limited_transmit)
Agent/TCP set precisionReduce_ $opt(precise_halving)
Agent/TCP set tcpTick_ $opt(tick)
Agent/TCP set minrto_ $opt(rto_min)
Agent/TCP set maxrto_ $opt(rto_max)
Agent/TCP set rtxcur_init_ $opt(rto_initial)
Agent/TCP set packetSize_ [expr {$opt(mss) + $opt(header)}]
Agent/TCPSink set packetSize_ $opt(header)
Queue/DropTail set queue_in_bytes_ true
Queue/DropTail set mean_pktsize_ 1       ;# so that limit_ is in bytes

# ---- network ---------------------------------------------------------------------------------------------------------

set ns [new Simulator]
set servers [$ns node]
set clients [$ns node]
$ns simplex-link $servers $clients $opt(rate) $opt(delay) DropTail
$ns simplex-link $clients $servers $opt(reverse_rate) $opt(delay) DropTail
$ns queue-limit $servers $clients $opt(buffer)
$ns queue-limit $clients $servers 100000000
if {$opt(monitor)} {
    set queue [$ns monitor-queue $servers $clients [open /dev/null w]]
}
if {$opt(events) ne ""} {
    set events [open $opt(events) w]
    $ns trace-queue $servers $clients $events
}
set flow_log [expr {$opt(flows) ne "" ? [open $opt(flows) w] : ""}]

# Each purpose has its own random stream.  Run n uses the n-th substream of each, so that runs do
# not overlap.
foreach stream {arrivals classes greedy_starts} {
    set $stream [new RNG]
    for {set i 0} {$i < $opt(seed)} {incr i} { [set $stream] next-substream }
}
for {set i 0} {$i < $opt(seed)} {incr i} { $defaultRNG next-substream }

# ---- greedy flows ----------------------------------------------------------------------------------------------------

set greedy_agents {}
set greedy_starts_at {}
for {set i 0} {$i < $opt(greedy)} {incr i} {
    set start [expr {$opt(starts) ne "" ? [lindex $opt(starts) $i] : [$greedy_starts uniform 0 $opt(spread)]}]
    set tcp [new Agent/TCP/Sack1]
    set sink [new Agent/TCPSink/Sack1]
    $ns attach-agent $servers $tcp
    $ns attach-agent $clients $sink
    $ns connect $tcp $sink
    $tcp set fid_ $i
    if {$opt(windows) ne ""} {
        if {![info exists windows]} { set windows [open $opt(windows) w] }
        $tcp attach $windows
        foreach variable {cwnd_ ssthresh_ dupacks_ backoff_} { $tcp trace $variable }
    }
    $ns at $start "$tcp send -1"
    lappend greedy_agents $tcp
    lappend greedy_starts_at $start
}

# ---- web flows -------------------------------------------------------------------------------------------------------
# A new pair of agents takes 2.5 ms in Tcl, as long as a hundred packets, so pairs are reused.
# `reset' restores a Sack1 sender except for the left edge of its scoreboard.  The edge stays at the
# last ACK of the old flow and would hide the holes of the new flow.  Therefore a sender whose
# scoreboard may have moved (it retransmitted, and had more than one packet) continues in the old
# sequence space: `base' is its first packet.  Its sink is not reset and must not receive an old
# packet, so the pair is idle for some time first. reuse=fresh makes new agents for each flow;
# README, "Reuse of agents", shows that both give the same results.

set mean_size [expr double([join $opt(sizes) +]) / [llength $opt(sizes)]]
if {$opt(flow_rate) < 0} { set opt(flow_rate) [expr {$opt(load) * $opt(rate) / 8.0 / $mean_size}] }
set full [expr {$opt(mss) + $opt(header)}]
set class 0
foreach size $opt(sizes) {
    incr class
    set packets [expr {($size + $opt(mss) - 1) / $opt(mss)}]
    set packets_of($class) $packets
    # A flow of one packet has its exact size.  In larger flows each packet is full, because an
    # agent has one packet size.
    set wire_of($class) [expr {$packets == 1 ? $size + $opt(header) : $full}]
    set pool($wire_of($class)) {}
    foreach counter {started n sum squares fr rto sent resent} { set ${counter}($class) 0 }
}
set rest 2.0                             ;# longer than any packet stays in the network
set made 0
set next_port 10000
set mean_gap [expr {$opt(flow_rate) > 0 ? 1.0 / $opt(flow_rate) : 0.0}]
array set started_at {}

proc new_sender {wire} {
    global ns servers clients made next_port sink_of base_of
    incr made
    set port [incr next_port]
    set tcp [new Agent/TCP/Sack1]
    set sink [new Agent/TCPSink/Sack1]
    $servers attach $tcp $port
    $clients attach $sink $port
    $servers set agents_ {}              ;# the list is never read and would grow without limit
    $clients set agents_ {}
    $ns connect $tcp $sink
    $tcp set packetSize_ $wire
    set sink_of($tcp) $sink
    set base_of($tcp) 0
    return $tcp
}

proc start_flow {} {
    global ns opt arrivals classes class_count mean_gap packets_of wire_of pool started started_at class_of base_of
    set now [$ns now]
    $ns at [expr {$now - log([$arrivals uniform 0 1]) * $mean_gap}] start_flow
    set class [expr {[$classes integer $class_count] + 1}]
    set wire $wire_of($class)
    if {[llength $pool($wire)]} {
        set tcp [lindex $pool($wire) end]
        set pool($wire) [lreplace $pool($wire) end end]
    } else {
        set tcp [new_sender $wire]
    }
    if {$opt(reseed)} { reseed $tcp }
    set started_at($tcp) $now
    set class_of($tcp) $class
    incr started($class) [expr {$now >= $opt(warm_up)}]
    if {$base_of($tcp) == 0} {
        $tcp advanceby $packets_of($class)
    } else {
        resume $tcp $base_of($tcp) $packets_of($class)
    }
}

# Starts a sender after a reset at packet `base' instead of 0, with an initial window of one packet.
# Tcl cannot set the agent's last ACK.  Therefore the window is enlarged up to `base' until one
# packet has been sent, and is then set to one.
proc resume {tcp base packets} {
    global opt
    $tcp set ack_ [expr {$base - 1}]
    $tcp set maxseq_ [expr {$base - 1}]
    $tcp set t_seqno_ $base
    $tcp set seqno_ $base
    $tcp set cwnd_ [expr {$base + 1}]
    $tcp advanceby 1
    $tcp set cwnd_ 1
    $tcp advanceby [expr {$packets - 1}]
}

# The phase of a sender's clock is drawn at `reset'.  With this seed it depends only on the flow's
# number.
proc reseed {tcp} {
    global defaultRNG serial
    $defaultRNG seed [incr serial]
    $tcp reset
}

# Adds the recoveries of a flow to its class.  Fast retransmits are window reductions without a
# timeout.
proc count_recoveries {tcp class resent_packets} {
    global fr rto resent
    set timeouts [$tcp set nrexmit_]
    set fast [expr {[$tcp set ncwndcuts1_] - $timeouts}]
    incr rto($class) $timeouts
    incr fr($class) $fast
    incr resent($class) $resent_packets
    return [list $fast $timeouts]
}

# ns-2 calls this procedure when the last ACK has arrived.
Agent/TCP/Sack1 instproc done {} {
    global ns opt started_at class_of sink_of base_of n sum squares sent packets_of wire_of pool rest flow_log
    if {![info exists started_at($self)]} return
    set now [$ns now]
    set class $class_of($self)
    set start $started_at($self)
    set resent_packets [$self set nrexmitpack_]
    if {$start >= $opt(warm_up)} {
        set time [expr {$now - $start}]
        incr n($class)
        set sum($class) [expr {$sum($class) + $time}]
        set squares($class) [expr {$squares($class) + $time * $time}]
        incr sent($class) [expr {$packets_of($class) + $resent_packets}]
        set recoveries {0 0}
        if {$resent_packets} { set recoveries [count_recoveries $self $class $resent_packets] }
        if {$flow_log ne ""} { puts $flow_log "$start $class $time $recoveries $resent_packets" }
    }
    unset started_at($self)
    set unworn [expr {$packets_of($class) == 1 || ($resent_packets == 0 && $base_of($self) == 0)}]
    if {$opt(reuse) eq "fresh" || (!$unworn && $opt(iw) > 1)} {
        # Before the first new ACK, a resumed sender cannot distinguish a duplicate ACK from a new
        # one, so `resume' does not work with a larger initial window.
        $self reset                      ;# otherwise its timer would expire again and again
        unset sink_of($self) base_of($self)
    } elseif {$unworn} {
        if {$opt(iw) > 1} { $self set windowInit_ $opt(iw) }   ;# a lost first packet sets it to 1
        $self reset
        $sink_of($self) reset
        lappend pool($wire_of($class)) $self
    } else {
        set base_of($self) [$self set seqno_]
        $self reset
        # The second reset is needed because the sink still acknowledges unnecessary
        # retransmissions.
        $ns at [expr {$now + $rest}] "$self reset; lappend pool($wire_of($class)) $self"
    }
}

set class_count [llength $opt(sizes)]
if {$opt(flow_rate) > 0} {
    $ns at [expr {-log([$arrivals uniform 0 1]) * $mean_gap}] start_flow
}

# ---- measuring -------------------------------------------------------------------------------------------------------

set queue_counters {parrivals_ barrivals_ pdrops_ bdrops_ pdepartures_ bdepartures_}
set greedy_counters {nrexmit_ ncwndcuts1_ ndatapack_ nrexmitpack_ ack_}
foreach counter $queue_counters {
    set raw($counter) 0
    set total($counter) 0
}

# ns-2's byte counters have 32 bits and wrap after 29 minutes at 10 Mb/s, so they are read more
# often.
proc read_queue_counters {} {
    global queue queue_counters raw total
    foreach counter $queue_counters {
        set value [expr {int([$queue set $counter])}]
        incr total($counter) [expr {($value - $raw($counter)) & 0xffffffff}]
        set raw($counter) $value
    }
}
set counting_span [expr {5e9 / $opt(rate)}]
proc keep_counting {} {
    global ns counting_span
    read_queue_counters
    $ns at [expr {[$ns now] + $counting_span}] keep_counting
}
if {$opt(monitor)} { $ns at $counting_span keep_counting }

proc snapshot {into} {
    global ns opt queue queue_counters greedy_counters greedy_agents total
    upvar #0 $into at
    set now [$ns now]
    if {$opt(monitor)} {
        read_queue_counters
        foreach counter $queue_counters { set at($counter) $total($counter) }
        foreach {name integrator value} [list packets [$queue get-pkts-integrator] [$queue set pkts_] \
                                             bytes [$queue get-bytes-integrator] [$queue set size_]] {
            $integrator newpoint $now $value
            set at($name) [$integrator set sum_]
        }
    }
    foreach tcp $greedy_agents {
        foreach counter $greedy_counters { set at($tcp,$counter) [$tcp set $counter] }
    }
}

proc list_of {values} { return "\[[join $values ,]\]" }

proc finish {} {
    global ns opt before after queue_counters greedy_counters greedy_agents greedy_starts_at started_at made full class_of
    global started n sum squares fr rto sent resent wire_of flow_log
    snapshot after
    foreach tcp [array names started_at] {
        if {$started_at($tcp) < $opt(warm_up)} continue
        set class $class_of($tcp)
        set resent_packets [$tcp set nrexmitpack_]
        incr sent($class) [$tcp set ndatapack_]
        set recoveries [count_recoveries $tcp $class $resent_packets]
        if {$flow_log ne ""} { puts $flow_log "$started_at($tcp) $class -1 $recoveries $resent_packets" }
    }
    set span [expr {double($opt(duration) - $opt(warm_up))}]

    set greedy {}
    foreach tcp $greedy_agents start $greedy_starts_at {
        foreach counter $greedy_counters {
            set d($counter) [expr {$after($tcp,$counter) - $before($tcp,$counter)}]
        }
        lappend greedy [format {{"start_s":%s,"fast_retransmits":%d,"timeouts":%d,"sent_packets":%d,"resent_packets":%d,"acked_packets":%d}} \
            $start [expr {$d(ncwndcuts1_) - $d(nrexmit_)}] $d(nrexmit_) $d(ndatapack_) $d(nrexmitpack_) $d(ack_)]
    }
    set classes {}
    set short_squares 0.0
    set short 0
    for {set class 1} {$class <= [llength $opt(sizes)]} {incr class} {
        set count $n($class)
        set mean [expr {$count > 0 ? $sum($class) / $count : 0.0}]
        set sd [expr {$count > 1 ? sqrt(max(0.0, ($squares($class) - $count * $mean * $mean) / ($count - 1))) : 0.0}]
        lappend classes [format {{"class":%d,"bytes":%d,"wire_bytes":%d,"started":%d,"completed":%d,"mean_s":%s,"sd_s":%s,"fast_retransmits":%d,"timeouts":%d,"sent_packets":%d,"resent_packets":%d}} \
            $class [lindex $opt(sizes) [expr {$class - 1}]] $wire_of($class) $started($class) $count \
            [expr {$count > 0 ? $mean : "null"}] [expr {$count > 1 ? $sd : "null"}] $fr($class) $rto($class) $sent($class) $resent($class)]
        if {$wire_of($class) != $full} {
            incr short $count
            set short_squares [expr {$short_squares + double($count) * $wire_of($class) * $wire_of($class)}]
        }
    }
    set line "{\"tick_s\":$opt(tick),\"rto_min_s\":$opt(rto_min),\"rto_max_s\":$opt(rto_max),\"rto_initial_s\":$opt(rto_initial)"
    append line ",\"seed\":$opt(seed),\"duration_s\":$opt(duration),\"warm_up_s\":$opt(warm_up),\"flow_rate_per_s\":$opt(flow_rate)"
    append line ",\"agents_made\":$made"
    if {$opt(monitor)} {
        foreach counter [concat $queue_counters packets bytes] { set q($counter) [expr {$after($counter) - $before($counter)}] }
        # ns-2's queue is the waiting packets, without the packet in transmission.  With that
        # packet, the mean grows by the busy time (packets) and by the sum of size times
        # transmission time (bytes).
        set service [expr {8.0 / $opt(rate) / $span}]
        set in_service_packets [expr {$q(bdepartures_) * $service}]
        set in_service_bytes [expr {(($q(pdepartures_) - $short) * double($full) * $full + $short_squares) * $service}]
        append line [format {,"offered_packets":%d,"offered_bytes":%d,"dropped_packets":%d,"dropped_bytes":%d,"through_packets":%d,"through_bytes":%d} \
            $q(parrivals_) $q(barrivals_) $q(pdrops_) $q(bdrops_) $q(pdepartures_) $q(bdepartures_)]
        append line ",\"utilisation\":$in_service_packets"
        append line ",\"mean_waiting_packets\":[expr {$q(packets) / $span}],\"mean_waiting_bytes\":[expr {$q(bytes) / $span}]"
        append line ",\"mean_queue_packets\":[expr {$q(packets) / $span + $in_service_packets}],\"mean_queue_bytes\":[expr {$q(bytes) / $span + $in_service_bytes}]"
    }
    append line ",\"classes\":[list_of $classes],\"greedy\":[list_of $greedy]}"
    puts $line
    exit 0
}

$ns at $opt(warm_up) "snapshot before"
$ns at $opt(duration) "finish"
$ns run
