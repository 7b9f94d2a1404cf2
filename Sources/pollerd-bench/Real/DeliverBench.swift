import BenchPlan
import Foundation
import Histogram
import NIOCore
import NIOHTTP1
import NIOPosix
import PollerChannels
import PollerDeliveries
import PollerIdentity
import PollerNet
import PollerQueue
import PollerRedis
import PollerWatches
import Synchronization

/// Measures the latency and throughput of webhooks, and the effect of a recipient that never responds.
///
/// Worker, notifier and recipient run in this process, which knows the time of each event. The CPU of a webhook is
/// measured with a real notifier (``RealDeliverBench``).
struct DeliverBench: Sendable {
    /// Events a second while latency is measured.
    private static let rate = 200
    private static let endpoints = 20
    /// The interval between two events of a watch.
    private static let interval = Duration.seconds(2)

    let store: BenchStore
    let plan: BenchPlan
    let redisURL: String

    func measure(_ report: inout BenchReport) async throws {
        let sink = WebhookSink()
        let port = try await sink.start()
        defer { sink.stop() }
        let calm = try await paced(sink, port, hangs: false)
        let withHanging = try await paced(sink, port, hangs: true)
        // Measured before and after, so that other load on the machine affects both.
        let later = try await paced(sink, port, hangs: false)
        let perSecond = try await backlog(sink, port)
        var own = BenchReport()
        own.add("commit to webhook request, 200/s", "to_request_ms", calm)
        own.add("webhooks to a local sink", "webhooks_per_s", perSecond, "/s")
        let ratio = withHanging.p99 * 2 / max(calm.p99 + later.p99, 0.001)
        own.add("  p99 while another endpoint hangs", "tarpit_p99_ratio", ratio, "×")
        try await RealDeliverBench(store: store, plan: plan, redisURL: redisURL).measure(&own)
        report.add("deliver", own)
    }

    /// Measures the latency at a fixed rate.
    ///
    /// With `hangs`, a tenth of the watches use an endpoint that never responds.
    private func paced(
        _ sink: WebhookSink,
        _ port: Int,
        hangs: Bool
    ) async throws -> BenchReport.Latency {
        let count = Self.rate * Int(Self.interval / .seconds(1))
        let keys = try store.keys(count, prefix: "told")
        try await store.enqueue(keys) { number in
            let isStuck = hangs && number % 10 == 0
            return "http://127.0.0.1:\(port)/\(isStuck ? "hang" : "ok")/\(number % Self.endpoints)"
        }
        let pace = BenchHandler.spread(over: Self.interval)
        let handler = BenchHandler(eventEvery: 1, pace: pace)
        let latency = Mutex(Histogram<UInt64>(numberOfSignificantValueDigits: .three))
        sink.onReceipt { id, path in
            let sent = handler.tally.withLock { $0.sent.removeValue(forKey: id) }
            guard let sent, path.hasPrefix("/ok") else { return }
            let took = sent.duration(to: .now) / .microseconds(1)
            latency.withLock { _ = $0.record(UInt64(max(took, 0))) }
        }
        let result = try await store.withWorker(handler, concurrency: plan.concurrency) {
            try await store.withNotifier(channel()) {
                // The first rounds, which enqueue, spread and connect, are not counted.
                try await store.clock.sleep(for: .seconds(5))
                latency.withLock { $0.reset() }
                try await store.clock.sleep(for: max(plan.span, Self.interval))
                return latency.withLock { $0.latency }
            }
        }
        try await store.clear()
        return result
    }

    /// Measures webhooks a second with a full backlog.
    private func backlog(_ sink: WebhookSink, _ port: Int) async throws -> Double {
        let keys = try store.keys(min(4000, plan.watches), prefix: "late")
        let wanted = try await store.record(3, of: keys) {
            "http://127.0.0.1:\(port)/ok/\($0 % Self.endpoints)"
        }
        let received = Mutex(0)
        sink.onReceipt { _, _ in received.withLock { $0 += 1 } }
        let began = store.clock.now
        try await store.withNotifier(channel()) {
            while received.withLock({ $0 }) < wanted {
                try await store.clock.sleep(for: .milliseconds(5))
                guard began.duration(to: store.clock.now) < .seconds(120) else {
                    throw BenchError("\(received.withLock { $0 }) of \(wanted) webhooks arrived")
                }
            }
        }
        let took = began.duration(to: store.clock.now) / .seconds(1)
        try await store.clear()
        return Double(wanted) / took
    }

    private func channel() throws -> WebhookChannel {
        var generator = SystemRandomNumberGenerator()
        return WebhookChannel(
            inline: InlineSecrets(forAll: WebhookSecret(using: &generator)),
            guarding: AddressGuard(allowing: try AddressRange.list("127.0.0.0/8")),
            resolver: SystemResolver(clock: store.clock),
            wallClock: BenchStore.wallClock
        )
    }
}

extension BenchStore {
    /// Runs a notifier with one channel while `body` measures.
    func withNotifier<Result: Sendable>(
        _ channel: WebhookChannel,
        _ body: () async throws -> Result
    ) async throws -> Result {
        let reader = OutboxReader(
            outbox: outbox,
            deliveries: deliveries,
            owner: owner,
            clock: clock,
            logger: logger
        )
        let notifier = LeaseWorker(
            name: "bench-notifier",
            queue: deliveries,
            handler: DeliveryHandler(store: watches, channels: [channel], logger: logger),
            settings: LeaseWorkerSettings(
                owner: owner,
                concurrency: 256,
                lease: .seconds(45),
                // The limit of an endpoint without a specific one.
                lane: LaneLimit(ratePerSecond: 0, burst: 1, inFlightMax: 16),
                drainTimeout: .seconds(1)
            ),
            clock: clock,
            logger: logger
        )
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await reader.run() }
            group.addTask { await notifier.run() }
            defer { group.cancelAll() }
            let result = try await body()
            notifier.drain()
            group.cancelAll()
            try await group.waitForAll()
            await channel.close()
            return result
        }
    }
}

/// A webhook recipient in this process.
///
/// It responds 200 at once, or never under `/hang`.
final class WebhookSink: Sendable {
    /// Called for each request with the event's id and the path.
    typealias Receipt = @Sendable (_ id: String, _ path: String) -> Void

    private let receipt: Mutex<Receipt>
    private let listener = Mutex<(any Channel)?>(nil)

    init() {
        receipt = Mutex { _, _ in }
    }

    /// Replaces the callback from now on.
    func onReceipt(_ receipt: @escaping Receipt) {
        self.receipt.withLock { $0 = receipt }
    }

    /// Listens on a free loopback port and returns it.
    func start() async throws -> Int {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 1024)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Answering(sink: self))
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
        listener.withLock { $0 = channel }
        guard let port = channel.localAddress?.port else {
            throw BenchError("no port to listen on")
        }
        return port
    }

    /// Stops listening.
    func stop() {
        listener.withLock { $0 }?.close(promise: nil)
    }

    fileprivate func received(_ id: String, _ path: String) {
        receipt.withLock { $0 }(id, path)
    }
}

/// Responds to the requests of one connection.
private final class Answering: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let sink: WebhookSink
    private var hangs = false

    init(sink: WebhookSink) {
        self.sink = sink
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            hangs = head.uri.hasPrefix("/hang")
            sink.received(head.headers.first(name: "webhook-id") ?? "", head.uri)
        case .body: break
        case .end where hangs: break
        case .end:
            let head = HTTPResponseHead(
                version: .http1_1,
                status: .ok,
                headers: ["content-length": "0"]
            )
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
    }
}
