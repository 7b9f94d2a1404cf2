import NIOCore

/// A point on the event loop's monotonic clock; the state machines get it as an argument.
struct RedisInstant: Hashable, Comparable {
    /// Nanoseconds since an arbitrary origin.
    let uptimeNs: UInt64

    init(uptimeNs: UInt64) {
        self.uptimeNs = uptimeNs
    }

    init(_ deadline: NIODeadline) {
        self.uptimeNs = deadline.uptimeNanoseconds
    }

    /// The same point for NIO.
    var deadline: NIODeadline { .uptimeNanoseconds(uptimeNs) }

    static func < (left: RedisInstant, right: RedisInstant) -> Bool {
        left.uptimeNs < right.uptimeNs
    }

    static func + (instant: RedisInstant, span: Duration) -> RedisInstant {
        let spanNs = UInt64(max(0, TimeAmount(span).nanoseconds))
        let (sum, overflow) = instant.uptimeNs.addingReportingOverflow(spanNs)
        return RedisInstant(uptimeNs: overflow ? .max : sum)
    }
}
