import Foundation

/// The duration of a fuzz test, and its seed.
///
/// `POLLER_FUZZ_SECONDS` is the time of all fuzz tests of a target together: `ops/test` gives 20 s, `ops/test long` an
/// hour. Without it a fuzz test runs for two seconds. `POLLER_FUZZ_SEED` repeats a run that failed.
package struct FuzzBudget: Sendable {
    /// The seed of the random numbers; a failure must name it.
    package let seed: UInt64
    /// How long the test runs.
    package let span: Duration

    /// Creates the budget of one of `fuzzers` tests.
    package init(oneOf fuzzers: Int) {
        let environment = ProcessInfo.processInfo.environment
        let seconds = environment["POLLER_FUZZ_SECONDS"].flatMap { Double($0) }
        let share = seconds.map { min(max($0, 0), 86_400) / Double(fuzzers) } ?? 2
        span = .milliseconds(Int64(share * 1000))
        seed = environment["POLLER_FUZZ_SEED"].flatMap { UInt64($0) } ?? .random(in: .min ... .max)
    }

    /// Runs `body` until the time is over, at least once.
    ///
    /// - Returns: the number of runs.
    @discardableResult
    package func run(_ name: String, _ body: (inout SeededGenerator) throws -> Void) rethrows -> Int
    {
        // A crash ends the process, so the seed is printed first.
        print("fuzz \(name): POLLER_FUZZ_SEED=\(seed)")
        let clock = ContinuousClock()
        let end = clock.now.advanced(by: span)
        var generator = SeededGenerator(seed: seed)
        var rounds = 0
        repeat {
            try body(&generator)
            rounds += 1
        } while clock.now < end
        print("fuzz \(name): \(rounds) documents")
        return rounds
    }
}
