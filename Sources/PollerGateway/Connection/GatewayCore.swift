import Logging
import Metrics
import PollerIdentity
import SafeNumbers

/// The parts that all live connections of a gateway share, on any transport.
///
/// It is a class, so that each connection holds a single reference to it.
final class GatewayCore: Sendable {
    let store: GatewayStore
    let hub: LiveHub
    let authorizer: Authorizer
    let slots: ConnectionSlots
    let cursor: GatewayCursor
    let limits: GatewayLimits
    let logger: Logger
    let work = GatewayWork()
    let open = OpenConnections()
    /// The span over which goodbyes are spread during a drain.
    private let drainSpread: Duration

    init(
        store: GatewayStore,
        hub: LiveHub,
        authorizer: Authorizer,
        slots: ConnectionSlots,
        cursor: GatewayCursor,
        limits: GatewayLimits,
        drainSpread: Duration,
        logger: Logger
    ) {
        self.store = store
        self.hub = hub
        self.authorizer = authorizer
        self.slots = slots
        self.cursor = cursor
        self.limits = limits
        self.drainSpread = drainSpread
        self.logger = logger
    }

    /// Returns a random span near `span`, so that connections opened together do not act together.
    func jittered(_ span: Duration) -> Duration {
        .milliseconds(Int64(saturating: Double(span.ms) * Double.random(in: 0.8...1.2)))
    }

    /// A random wait until the goodbye during a drain.
    var drainWait: Duration {
        .milliseconds(Int64(saturating: drainSpread.inSeconds * Double.random(in: 0...1) * 1000))
    }

    /// Counts an accepted connection of a transport in a metric.
    func count(_ transport: String) {
        Counter(label: "poller_gateway_connections_total", dimensions: [("transport", transport)])
            .increment()
    }
}
