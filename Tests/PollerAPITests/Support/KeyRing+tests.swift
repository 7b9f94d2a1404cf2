import Poller
import PollerIdentity
import PollerTesting

extension KeyRing {
    /// No keys at all.
    static var open: KeyRing {
        KeyRing(
            file: [:],
            store: nil,
            clock: ContinuousClock(),
            wallClock: { Timestamp(ms: 0) },
            logger: LiveAPI.quiet
        )
    }
}
