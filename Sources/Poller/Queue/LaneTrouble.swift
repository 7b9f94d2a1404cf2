/// What a claim tells about a lane whose attempts fail.
package struct LaneTrouble: Hashable, Sendable {
    /// Attempts in a row without an answer.
    package let failures: Int
    /// The first attempt that failed since one succeeded, by the store's clock.
    package let since: Timestamp

    /// Puts it together, as a store does.
    package init(failures: Int, since: Timestamp) {
        self.failures = failures
        self.since = since
    }

    /// The circuit is open: this attempt finds out whether the other side is back.
    package var isProbed: Bool { failures >= LaneSignal.failuresMax }
}
