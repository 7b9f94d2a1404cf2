import Foundation
import PollerClient

/// Follows one payment and prints each of its events once, in order, until the watch has ended.
///
///     POLLER_URL=http://127.0.0.1:8080 swift run example-follow-events src_123 [SEQ]
///
/// `SEQ` is the last event that you have handled: 0 for the whole history. Keep it in your database, in the transaction
/// that acts on the event. A restart of either side then loses nothing and repeats nothing.
@main
struct FollowEvents {
    static func main() async throws {
        let arguments = ProcessInfo.processInfo.arguments.dropFirst()
        guard let source = arguments.first else {
            print("usage: example-follow-events SOURCE [SEQ]")
            exit(64)
        }
        let handled = arguments.dropFirst().first.flatMap { Int($0) } ?? 0
        let environment = ProcessInfo.processInfo.environment
        try await PollerClient.withClient(
            url: environment["POLLER_URL"] ?? "http://127.0.0.1:8080",
            // With the gateway's address events arrive at once; without it, through long polls.
            gateway: environment["GATEWAY"],
            apiKey: environment["POLLER_API_KEY"]
        ) { poller in
            for try await event in poller.events(for: WatchName(source), after: handled) {
                print(event.seq, event.type, event.payment?.state.rawValue ?? "-")
            }
        }
    }
}
