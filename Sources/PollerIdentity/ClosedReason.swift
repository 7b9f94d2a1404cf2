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

    /// Whether a hint opens such a watch again for a look: nobody saw how the payment ended, and
    /// news of it may have come since.
    ///
    /// A status that is final has no news, a goal that was reached asks for none, and what a person
    /// has stopped waits for a person. So does what has ended its workers; a watch that is `dead` because
    /// no answer was understood is opened, too, and goes on (`WatchSnapshot.opensOnHint`).
    package var opensOnHint: Bool {
        switch self {
        case .expired, .gone: true
        case .settled, .reached, .cancelled, .dead: false
        }
    }
}
