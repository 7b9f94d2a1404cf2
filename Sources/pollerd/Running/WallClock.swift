import Foundation
import Poller

/// This machine's clock, for what is no due time: signatures, and dates in headers.
enum WallClock {
    /// The time by this machine.
    static func now() -> Timestamp {
        Timestamp(ms: Int64(Date().timeIntervalSince1970 * 1000))
    }
}
