import Logging
import Poller

/// What all live connections of a gateway share, whatever their transport.
struct GatewayCore<Events: Outbox, Store: WatchStore, C: Clock>: Sendable
where C.Duration == Duration, C.Instant: Sendable {
    let outbox: Events
    let watches: Store
    let hub: LiveHub<Events, C>
    let authorizer: Authorizer
    let slots: ConnectionSlots
    let cursor: GatewayCursor
    let limits: GatewayLimits
    /// Goodbyes at a drain are spread over this span.
    let drainSpread: Duration
    let clock: C
    let logger: Logger

    /// A random instant of the drain, in ms from now.
    var drainWait: Duration {
        .milliseconds(Int64(drainSpread.inSeconds * Double.random(in: 0...1) * 1000))
    }
}
