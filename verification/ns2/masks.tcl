# Single flows in ns-2, each alone on a link of 10 Mb/s and 50 ms that drops given packets.  The
# first argument is the sender: sack1, tahoe, vegas, fack or fack-shipped.  Each further argument is a flow:
# PACKETS:LOST,LOST,… Packets are numbered from 0 in the order in which the link carries them,
# retransmissions included.
#
#   ns masks.tcl sack1 8:3 40:0,7,21
#
# Prints one line per flow: its number, completion time in seconds, fast retransmits, timeouts,
# packets sent.  The settings are those of web.tcl with profile=2002; the return path is infinitely
# fast.
#
# fack is ns-2's Fack with the reduction of the paper.  It prints a sixth number: 1 if a duplicate
# ACK arrived while ns-2 was in a recovery that is over for the paper.  README.md explains both.

Agent/TCP set syn_ false
Agent/TCP set delay_growth_ false
Agent/TCP set useHeaders_ false
Agent/TCP set window_ 10000
Agent/TCP set windowInit_ 1
Agent/TCP set singledup_ 0
Agent/TCP set tcpTick_ 0.1
Agent/TCP set minrto_ 1
Agent/TCP set maxrto_ 64
Agent/TCP set rtxcur_init_ 3
Agent/TCP set packetSize_ 1500

# Overdamping and Rampdown, off by default.
Agent/TCP/Fack set ss-div4_ false
Agent/TCP/Fack set rampdown_ false

# The agent Agent/TCP without a suffix is Tahoe.
array set variants {sack1 /Sack1 tahoe "" vegas /Vegas fack /Fack fack-shipped /Fack}
array set sinks {sack1 /Sack1 tahoe "" vegas "" fack /Sack1 fack-shipped /Sack1}
set sender [lindex $argv 0]
if {![info exists variants($sender)]} {
    puts stderr "masks.tcl: the first argument is the sender, [array names variants], not \"$sender\""
    exit 2
}
set agent Agent/TCP$variants($sender)
set sink_agent Agent/TCPSink$sinks($sender)

# Calls a command for a copy of each packet.
Class Tap -superclass Classifier/Addr
Tap instproc no-slot args {eval [$self set command_]}

# Reduces the window of a Fack agent as the paper says: to one half, at which it stays until recovery ends, and what it
# allows is sent at once.  ns-2 sets it to one packet and lets every acknowledgment of the recovery widen it.
Class Reduction
Reduction instproc init {tcp line} {
    $self instvar tcp_ recover_ fast_ outside_
    set tcp_ $tcp
    set recover_ -1                                     ;# first packet not sent when recovery began
    set fast_ 0
    set outside_ 0
    set copies [new Classifier/Replicator]
    $copies set ignore_ 1
    set before [new Tap]
    $before set command_ "$self before"
    set after [new Tap]
    $after set command_ "$self after"
    $copies install 0 $before
    $copies install 1 [$line target]
    $copies install 2 $after
    $line target $copies
}
Reduction instproc before {} {
    $self instvar tcp_ cwnd_ cuts_ ack_
    set cwnd_ [$tcp_ set cwnd_]
    set cuts_ [$tcp_ set ncwndcuts1_]
    set ack_ [$tcp_ set ack_]
}
Reduction instproc after {} {
    $self instvar tcp_ cwnd_ cuts_ ack_ recover_ fast_ outside_
    if {[$tcp_ set ncwndcuts1_] > $cuts_} {
        incr fast_
        $tcp_ set cwnd_ [expr {$cwnd_ / 2.0 < 2 ? 2 : $cwnd_ / 2.0}]
        $tcp_ set increase_num_ 0
        set recover_ [$tcp_ set t_seqno_]
        $tcp_ advanceby 0
    } elseif {$recover_ >= 0 && [$tcp_ set ack_] + 1 >= $recover_} {
        $tcp_ set increase_num_ 1
        set recover_ -1
    } elseif {$recover_ < 0 && [$tcp_ set ack_] == $ack_ && [$tcp_ set dupacks_] >= [$tcp_ set numdupacks_]} {
        set outside_ 1                                  ;# only the end of its recovery sets dupacks_ to 0
    }
}

set ns [new Simulator]
set start 0.01
set number 0
foreach flow [lrange $argv 1 end] {
    lassign [split $flow :] packets lost
    set server [$ns node]
    set client [$ns node]
    $ns simplex-link $server $client 10e6 0.05 DropTail
    $ns simplex-link $client $server 1e15 0.05 DropTail
    $ns queue-limit $server $client 10000
    set losses [new ErrorModel/List]
    $losses droplist [split $lost ,]
    $losses drop-target [new Agent/Null]
    # The losses are after the link: a lost packet takes its transmission time.
    [$ns link $server $client] install-error $losses
    set tcp [new $agent]
    set sink [new $sink_agent]
    $ns attach-agent $server $tcp
    $ns attach-agent $client $sink
    $ns connect $tcp $sink
    set number_of($tcp) $number
    if {$sender eq "fack"} {
        set reductions($tcp) [new Reduction $tcp [[$ns link $client $server] set ttl_]]
    }
    $ns at $start "$tcp advanceby $packets"
    incr number
}

$agent instproc done {} {
    global ns start number_of reductions
    if {![info exists number_of($self)]} return         ;# an ACK after the end of the flow
    set timeouts [$self set nrexmit_]
    set fast [expr {[$self set ncwndcuts1_] - $timeouts}]
    set more {}
    if {[info exists reductions($self)]} {              ;# Fack does not count its timeouts
        set timeouts [expr {$fast - [$reductions($self) set fast_]}]
        set fast [$reductions($self) set fast_]
        set more [$reductions($self) set outside_]
    }
    puts [concat [list $number_of($self) [expr {[$ns now] - $start}] $fast $timeouts [$self set ndatapack_]] $more]
    unset number_of($self)
    $self reset
}

$ns at 2000 "exit 0"
$ns run
