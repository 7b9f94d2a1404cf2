import ArgumentParser
import PollerClient
import PollerWire

/// Waits for the first answer of the upstream, for `pollerctl enqueue --wait-first-poll`.
///
/// A mistyped id is accepted like any other: whether the upstream knows it, only a poll shows.
enum FirstPoll {
    private static let timeout = Duration.seconds(30)
    private static let interval = Duration.milliseconds(200)

    /// Waits until each watch was polled once, and names those without an answer on standard error.
    ///
    /// - Throws: `ExitCode(1)` when there is one.
    static func wait(for names: [WatchName], _ client: PollerClient) async throws {
        let end = ContinuousClock.now + timeout
        var failures = 0
        for name in names.sorted(by: { $0.source < $1.source }) {
            var watch = try await client.watch(name).value
            while watch.attempts == 0, watch.state == Open(.open), ContinuousClock.now < end {
                try await Task.sleep(for: interval)
                watch = try await client.watch(name).value
            }
            let failure = watch.attempts == 0 ? "it was not polled within 30 s" : watch.lastError
            guard let failure else { continue }
            failures += 1
            Terminal.printError("\(name.source): \(failure)")
        }
        if failures > 0 { throw ExitCode(1) }
    }
}
