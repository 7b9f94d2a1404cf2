/// How an account's allowance of reads is spent: the sweep's share, and how polls give way.
///
/// | | stretch of polls |
/// |---|---|
/// | sweep healthy | 8 |
/// | no healthy sweep | 1 |
/// | more than 80 % of the allowance used | × 4 |
/// | the whole allowance used | × 16 |
///
/// Eager looks after a hint, first looks and looks at a deadline are never stretched.
package enum ReadBudget {
    /// Polls of an account whose sweep is healthy: an hour's life takes 9 looks instead of 19.
    static let sweptStretch = 8.0
    /// What of the allowance sweeps may take.
    static let sweepShare = 0.2
    /// A slower sweep than this tells too late to let polls wait for it.
    static let sweepIntervalMax = Duration.seconds(30)
    /// A faster one gains nobody anything.
    static let sweepIntervalMin = Duration.seconds(2)
    private static let period = 30.0 * 86_400

    /// How much longer polls wait.
    package static func stretch(used: Double, isSwept: Bool) -> Double {
        let swept = isSwept ? sweptStretch : 1
        return used >= 1 ? swept * 16 : used > 0.8 ? swept * 4 : swept
    }

    /// How often an account is swept, so that it stays within its share.
    ///
    /// An account with few transactions is swept rarely, and its polls go on as if it were not.
    package static func sweepInterval(_ usage: ReadUsage) -> Duration {
        let seconds = period / (sweepShare * Double(usage.allowance))
        return max(sweepIntervalMin, .milliseconds(Int64(seconds * 1000)))
    }
}
