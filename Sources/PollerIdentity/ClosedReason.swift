/// The reason why an item is no longer polled.
package enum ClosedReason: String, Hashable, Sendable, CaseIterable {
    /// The status is final.
    case settled
    /// The watch's goal is reached, though the status may still change.
    case reached
    /// The deadline has passed, and a last poll found no change.
    case expired
    /// A caller cancelled the watch.
    case cancelled
    /// The upstream does not know the source (404).
    case gone
    /// An operator must act: the answers were unreadable for hours, or the watch repeatedly ended its workers.
    case dead

    /// Whether a hint reopens such a watch for a poll, because its end was not observed and the payment may have
    /// changed since.
    ///
    /// A final status does not change, a reached goal needs no further changes, and a watch stopped by an operator
    /// waits for an operator. So does a watch that ended its workers. A watch that is `dead` because no answer was
    /// understood is reopened, too, and continues (`WatchSnapshot.opensOnHint`).
    package var opensOnHint: Bool {
        switch self {
        case .expired, .gone: true
        case .settled, .reached, .cancelled, .dead: false
        }
    }
}
