import ArgumentParser
import PollerClient
import PollerWire

/// Waits for the first poll, for `pollerctl enqueue --wait-first-poll`.
///
/// The server accepts a mistyped ID; only a poll shows whether the upstream knows it.
enum FirstPoll {
    private static let timeout = Duration.seconds(30)
    private static let interval = Duration.milliseconds(200)

    /// Waits until each watch was polled once, and reports failures on standard error.
    ///
    /// - Throws: `ExitCode(1)` if a poll failed or did not happen in time.
    static func wait(for names: [WatchName], _ client: PollerClient) async throws {
        let end = ContinuousClock.now + timeout
        var failures = 0
        for name in names.sorted(by: { $0.source < $1.source }) {
            var watch = try await client.watch(name).value
            while watch.attempts == 0, watch.state == Open(.open), ContinuousClock.now < end {
                try await Task.sleep(for: interval)
                watch = try await client.watch(name).value
            }
            let failure = watch.attempts == 0 ? "not polled within 30 s" : watch.lastError
            guard let failure else { continue }
            failures += 1
            Terminal.printError("\(name.source): \(failure)")
        }
        if failures > 0 { throw ExitCode(1) }
    }
}
