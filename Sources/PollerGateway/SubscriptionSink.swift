import Poller

/// Where a ``SubscriptionPump`` puts what it has to say, and whom it tells how far it is.
struct SubscriptionSink: Sendable {
    let queue: OutboundQueue
    /// A message in the transport's own words; nil for what it does not tell.
    let text: @Sendable (LiveMessage) -> String?
    /// Told how far the client has been sent to, for the connection's own goodbye.
    let progress: @Sendable (LiveCursor) -> Void
    /// Told that a source is settled, once that has been sent.
    let settled: @Sendable (SourceID) -> Void
}
