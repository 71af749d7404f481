// The network of the Smart Framing paper's section IV with Classic TCP in ns-3: greedy flows and
// Poisson web flows over one drop-tail bottleneck. Prints one JSON object on stdout.
//
//   web --load=0.8 --duration=1000 --seed=1
//
// ../README.md describes the optimisations of this program and the differences of ns-3's TCP from
// ours.

#include <ns3/command-line.h>
#include <ns3/config.h>
#include <ns3/data-rate.h>
#include <ns3/double.h>
#include <ns3/drop-tail-queue.h>
#include <ns3/enum.h>
#include <ns3/global-value.h>
#include <ns3/inet-socket-address.h>
#include <ns3/internet-stack-helper.h>
#include <ns3/ipv4-static-routing-helper.h>
#include <ns3/ipv4.h>
#include <ns3/node.h>
#include <ns3/point-to-point-channel.h>
#include <ns3/point-to-point-net-device.h>
#include <ns3/random-variable-stream.h>
#include <ns3/rng-seed-manager.h>
#include <ns3/simulator.h>
#include <ns3/string.h>
#include <ns3/tcp-congestion-ops.h>
#include <ns3/tcp-recovery-ops.h>
#include <ns3/tcp-socket-factory.h>
#include <ns3/uinteger.h>

#include <cstdint>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint32_t MSS = 1460;
constexpr uint32_t FULL = MSS + 40;
constexpr uint32_t PPP = 2; // bytes that the point-to-point device adds to each packet
constexpr uint16_t PORT = 80;
constexpr uint32_t BUFFER = 14600000; // both ends: never the limit

struct Options
{
    double load = 0.8;
    double flowsAtLoad1 = 54.275; // flows a second that make load 1
    double duration = 1000;
    uint32_t seed = 1;
    uint32_t greedy = 10;
    double spread = 1;
    std::string rate = "10Mb/s";
    std::string delay = "50ms";
    uint32_t buffer = 149999; // bytes that may wait, IP header on
    bool sack = true;
    std::string sizes = "1460";
};

struct Flow
{
    double start = 0;
    uint64_t size = 0; // 0: endless
    uint64_t received = 0;
    uint32_t sizeClass = 0;
};

struct Class
{
    uint64_t size;
    uint64_t started = 0;
    uint64_t completed = 0;
    double seconds = 0;
};

class Web
{
  public:
    explicit Web(const Options& options);
    void Run();

  private:
    void Arrive();
    void Start(Flow flow);
    void Fill(Ptr<Socket> sender, uint32_t free);
    void Accepted(Ptr<Socket> receiver, const Address& from);
    void Receive(Ptr<Socket> receiver);
    void CountBytes();
    void Report();

    Options m_options;
    Ptr<Node> m_servers = CreateObject<Node>();
    Ptr<Node> m_clients = CreateObject<Node>();
    Ptr<Queue<Packet>> m_queue;
    uint64_t m_receivedBytes = 0;
    uint32_t m_countedBytes = 0;
    Ptr<Socket> m_listener;
    Ptr<ExponentialRandomVariable> m_gaps = CreateObject<ExponentialRandomVariable>();
    Ptr<UniformRandomVariable> m_draws = CreateObject<UniformRandomVariable>();
    std::vector<Class> m_classes;
    // Indexed by the sender's port, which is the peer's port at a receiver.
    std::vector<Flow> m_flows = std::vector<Flow>(65536);
};

void
CloseToo(Ptr<Socket> receiver)
{
    receiver->Close();
}

Ptr<PointToPointNetDevice>
AddDevice(Ptr<Node> node, Ptr<PointToPointChannel> line, DataRate rate, uint64_t bytes, const char* address)
{
    auto queue = CreateObject<DropTailQueue<Packet>>();
    queue->SetAttribute("MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::BYTES, bytes)));
    auto device = CreateObject<PointToPointNetDevice>();
    device->SetDataRate(rate);
    device->SetQueue(queue);
    device->SetAddress(Mac48Address::Allocate());
    node->AddDevice(device);
    device->Attach(line);
    // Without the address helper, which would install a queueing discipline before the device.
    auto ipv4 = node->GetObject<Ipv4>();
    const auto interface = ipv4->AddInterface(device);
    ipv4->AddAddress(interface, Ipv4InterfaceAddress(address, "255.255.255.0"));
    ipv4->SetUp(interface);
    return device;
}

Web::Web(const Options& options)
    : m_options(options)
{
    std::istringstream sizes(m_options.sizes);
    for (std::string size; std::getline(sizes, size, ',');)
    {
        m_classes.push_back(Class{std::stoull(size)});
    }
    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.SetRoutingHelper(Ipv4StaticRoutingHelper());
    stack.Install(m_servers);
    stack.Install(m_clients);

    // The link carries 2 more bytes per packet (PPP). Rate and buffer are larger in proportion, so
    // that a full packet has the same transmission time.
    const double wider = static_cast<double>(FULL + PPP) / FULL;
    const auto rate = static_cast<uint64_t>(DataRate(m_options.rate).GetBitRate() * wider + 0.5);
    const auto limit = static_cast<uint64_t>(m_options.buffer * wider);
    auto line = CreateObject<PointToPointChannel>();
    line->SetAttribute("Delay", StringValue(m_options.delay));
    m_queue = AddDevice(m_servers, line, DataRate(rate), limit, "10.0.0.1")->GetQueue();
    AddDevice(m_clients, line, DataRate(1000000000000000), 100000000, "10.0.0.2");

    m_listener = Socket::CreateSocket(m_clients, TcpSocketFactory::GetTypeId());
    m_listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT));
    m_listener->Listen();
    m_listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                  MakeCallback(&Web::Accepted, this));

    for (uint32_t i = 0; i < m_options.greedy; ++i)
    {
        Simulator::Schedule(Seconds(m_draws->GetValue(0, m_options.spread)), &Web::Start, this, Flow{});
    }
    if (m_options.load > 0)
    {
        m_gaps->SetAttribute("Mean", DoubleValue(1 / (m_options.load * m_options.flowsAtLoad1)));
        Simulator::Schedule(Seconds(m_gaps->GetValue()), &Web::Arrive, this);
    }
}

void
Web::Arrive()
{
    Simulator::Schedule(Seconds(m_gaps->GetValue()), &Web::Arrive, this);
    const auto drawn = m_draws->GetInteger(0, m_classes.size() - 1);
    m_classes[drawn].started += 1;
    Start(Flow{Simulator::Now().GetSeconds(), m_classes[drawn].size, 0, drawn});
}

void
Web::Start(Flow flow)
{
    auto sender = Socket::CreateSocket(m_servers, TcpSocketFactory::GetTypeId());
    sender->Bind();
    Address local;
    sender->GetSockName(local);
    m_flows[InetSocketAddress::ConvertFrom(local).GetPort()] = flow;
    sender->Connect(InetSocketAddress("10.0.0.2", PORT));
    if (flow.size == 0)
    {
        sender->SetSendCallback(MakeCallback(&Web::Fill, this));
        Fill(sender, sender->GetTxAvailable());
        return;
    }
    sender->Send(Create<Packet>(flow.size)); // in one piece: cutting it later costs less than many pieces
    sender->Close(); // its FIN goes with the last byte
}

void
Web::Fill(Ptr<Socket> sender, uint32_t free)
{
    if (free >= BUFFER / 2)
    {
        sender->Send(Create<Packet>(free));
    }
}

void
Web::Accepted(Ptr<Socket> receiver, const Address&)
{
    receiver->SetRecvCallback(MakeCallback(&Web::Receive, this));
    receiver->SetCloseCallbacks(MakeCallback(&CloseToo),
                                MakeNullCallback<void, Ptr<Socket>>());
}

void
Web::Receive(Ptr<Socket> receiver)
{
    Address peer;
    receiver->GetPeerName(peer);
    Flow& flow = m_flows[InetSocketAddress::ConvertFrom(peer).GetPort()];
    while (auto packet = receiver->Recv())
    {
        flow.received += packet->GetSize();
    }
    if (flow.size != 0 && flow.received == flow.size)
    {
        auto& counts = m_classes[flow.sizeClass];
        counts.completed += 1;
        counts.seconds += Simulator::Now().GetSeconds() - flow.start;
        flow.received = 0;
    }
}

void
Web::Run()
{
    Simulator::Stop(Seconds(m_options.duration));
    CountBytes();
    Simulator::Run();
    CountBytes();
    Report();
    Simulator::Destroy();
}

// The queue's byte counter has 32 bits, so it is read at least twice before it wraps.
void
Web::CountBytes()
{
    const uint32_t counted = m_queue->GetTotalReceivedBytes();
    m_receivedBytes += static_cast<uint32_t>(counted - m_countedBytes);
    m_countedBytes = counted;
    const double bytesPerSecond = DataRate(m_options.rate).GetBitRate() / 8.0;
    Simulator::Schedule(Seconds(0x40000000 / bytesPerSecond), &Web::CountBytes, this);
}

void
Web::Report()
{
    // The queue has its own counters, so no trace is needed.
    const uint64_t taken = m_queue->GetTotalReceivedPackets();
    const uint64_t dropped = m_queue->GetTotalDroppedPackets();
    const uint64_t through = taken - m_queue->GetNPackets();
    const double bytes = m_receivedBytes - m_queue->GetNBytes() - static_cast<double>(through) * PPP;
    std::printf("{\"offered_packets\":%llu,\"dropped_packets\":%llu,\"through_packets\":%llu,\"utilisation\":%.6f,"
                "\"events\":%llu,\"classes\":[",
                static_cast<unsigned long long>(taken + dropped),
                static_cast<unsigned long long>(dropped),
                static_cast<unsigned long long>(through),
                8 * bytes / m_options.duration / DataRate(m_options.rate).GetBitRate(),
                static_cast<unsigned long long>(Simulator::GetEventCount()));
    const char* comma = "";
    for (const auto& counts : m_classes)
    {
        std::printf("%s{\"bytes\":%llu,\"started\":%llu,\"completed\":%llu,\"mean_s\":%.6f}",
                    comma,
                    static_cast<unsigned long long>(counts.size),
                    static_cast<unsigned long long>(counts.started),
                    static_cast<unsigned long long>(counts.completed),
                    counts.completed > 0 ? counts.seconds / counts.completed : 0.0);
        comma = ",";
    }
    std::printf("]}\n");
}

// The paper's TCP, as far as ns-3 implements it.
void
Configure(const Options& options)
{
    const std::string socket = "ns3::TcpSocket::";
    Config::SetDefault(socket + "SegmentSize", UintegerValue(MSS));
    Config::SetDefault(socket + "SndBufSize", UintegerValue(BUFFER));
    Config::SetDefault(socket + "RcvBufSize", UintegerValue(BUFFER));
    Config::SetDefault(socket + "InitialCwnd", UintegerValue(1));
    Config::SetDefault(socket + "DelAckCount", UintegerValue(1));
    Config::SetDefault(socket + "ConnTimeout", TimeValue(Seconds(3)));
    const std::string base = "ns3::TcpSocketBase::";
    Config::SetDefault(base + "Sack", BooleanValue(options.sack));
    Config::SetDefault(base + "Timestamp", BooleanValue(false));
    // No effect with SACK: then new data follows the first two duplicate acknowledgments anyway.
    Config::SetDefault(base + "LimitedTransmit", BooleanValue(false));
    Config::SetDefault(base + "MinRto", TimeValue(Seconds(1)));
    Config::SetDefault(base + "ClockGranularity", TimeValue(MilliSeconds(100)));
    // Closed sockets remain for twice this time, and the socket lookup of each packet passes them.
    Config::SetDefault(base + "MaxSegLifetime", DoubleValue(0.1));
    Config::SetDefault("ns3::RttEstimator::InitialEstimation", TimeValue(Seconds(3)));
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TcpClassicRecovery::GetTypeId()));
}

} // namespace

int
main(int argc, char* argv[])
{
    Options options;
    CommandLine command;
    command.AddValue("load", "web flows' payload over the bottleneck's rate", options.load);
    command.AddValue("flowsAtLoad1", "web flows a second at load 1", options.flowsAtLoad1);
    command.AddValue("duration", "simulated seconds", options.duration);
    command.AddValue("seed", "number of the run", options.seed);
    command.AddValue("greedy", "greedy flows", options.greedy);
    command.AddValue("spread", "seconds in which the greedy flows start", options.spread);
    command.AddValue("rate", "the bottleneck's", options.rate);
    command.AddValue("delay", "one way", options.delay);
    command.AddValue("buffer", "bytes that may wait for the bottleneck", options.buffer);
    command.AddValue("sack", "selective acknowledgments", options.sack);
    command.AddValue("sizes", "the web flows' sizes in bytes, equally likely", options.sizes);
    command.Parse(argc, argv);
    RngSeedManager::SetRun(options.seed);
    Configure(options);
    Web(options).Run();
    return 0;
}
