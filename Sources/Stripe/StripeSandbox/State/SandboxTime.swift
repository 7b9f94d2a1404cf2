/// The sandbox's own time: the machine's, faster by a factor and ahead by what tests skipped.
struct SandboxTime {
    private let startMs: Int64
    private let scale: Double
    /// What `POST /_sandbox/clock/advance` skipped so far.
    private(set) var skippedMs: Int64 = 0

    /// Starts at the machine's time.
    ///
    /// - Parameters:
    ///   - startMs: The machine's time, milliseconds since 1970.
    ///   - scale: Sandbox seconds per second of the machine.
    init(startMs: Int64, scale: Double) {
        self.startMs = startMs
        self.scale = scale
    }

    /// Sandbox time at a time of the machine's.
    func nowMs(machineMs: Int64) -> Int64 {
        if scale == 1 { return machineMs + skippedMs }
        return startMs + Int64(Double(machineMs - startMs) * scale) + skippedMs
    }

    /// How long the machine has to wait for a span of sandbox time, rounded up to a millisecond.
    func machineMs(for spanMs: Int64) -> Int64 {
        max(1, Int64((Double(spanMs) / scale).rounded(.up)))
    }

    /// The span of sandbox time that passes in a span of the machine's.
    func sandboxMs(for machineMs: Int64) -> Int64 { Int64(Double(machineMs) * scale) }

    mutating func skip(_ spanMs: Int64) {
        skippedMs += spanMs
    }
}
