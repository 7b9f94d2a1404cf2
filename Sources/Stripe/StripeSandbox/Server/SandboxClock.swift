#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The machine's clock, for a sandbox that nobody gave another.
package enum SandboxClock {
    /// Milliseconds since 1970.
    package static func nowMs() -> Int64 {
        Int64(Date().timeIntervalSince1970 * 1000)
    }
}
