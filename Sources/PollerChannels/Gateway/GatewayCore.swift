import Logging
import Poller

/// What all live connections of a gateway share, whatever their transport.
struct GatewayCore<Events: Outbox, Store: WatchStore, C: Clock>: Sendable
where C.Duration == Duration, C.Instant: Sendable {
    let outbox: Events
    let watches: Store
    let feed: LiveFeed<Events, C>
    let authenticator: any Authenticator
    let cursor: GatewayCursor
    let limits: GatewayLimits
    /// Goodbyes at a drain are spread over this span.
    let drainSpread: Duration
    let clock: C
    let logger: Logger
}
