#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Where a reader of events begins.
public enum EventStart: Hashable, Sendable {
    /// At the oldest event that is kept.
    case oldest
    /// With what is recorded from now on.
    case now
    /// With what was recorded at this time.
    case time(Date)
    /// Behind a page: its ``Page/next``.
    case cursor(String)
}
