# Single flows in ns-2, each alone on a link of 10 Mb/s and 50 ms that drops given packets.  The
# first argument is the sender: sack1, tahoe or vegas.  Each further argument is a flow:
# PACKETS:LOST,LOST,… Packets are numbered from 0 in the order in which the link carries them,
# retransmissions included.
#
#   ns masks.tcl sack1 8:3 40:0,7,21
#
# Prints one line per flow: its number, completion time in seconds, fast retransmits, timeouts,
# packets sent.  The settings are those of web.tcl with profile=2002; the return path is infinitely
# fast.

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

# The agent Agent/TCP without a suffix is Tahoe.
array set variants {sack1 /Sack1 tahoe "" vegas /Vegas}
array set sinks {sack1 /Sack1 tahoe "" vegas ""}
set sender [lindex $argv 0]
if {![info exists variants($sender)]} {
    puts stderr "masks.tcl: the first argument is the sender, sack1, tahoe or vegas, not \"$sender\""
    exit 2
}
set agent Agent/TCP$variants($sender)
set sink_agent Agent/TCPSink$sinks($sender)

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
    $ns at $start "$tcp advanceby $packets"
    incr number
}

$agent instproc done {} {
    global ns start number_of
    if {![info exists number_of($self)]} return         ;# an ACK after the end of the flow
    set timeouts [$self set nrexmit_]
    puts [list $number_of($self) [expr {[$ns now] - $start}] [expr {[$self set ncwndcuts1_] - $timeouts}] $timeouts \
        [$self set ndatapack_]]
    unset number_of($self)
    $self reset
}

$ns at 2000 "exit 0"
$ns run
