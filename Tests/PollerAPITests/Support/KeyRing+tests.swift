import PollerIdentity
import PollerOperations
import PollerTesting

extension KeyRing {
    /// A key ring without keys.
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
