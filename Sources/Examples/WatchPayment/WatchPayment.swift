import Foundation
import PollerClient

/// Watches one payment until it is paid or can no longer be paid.
///
///     POLLER_URL=http://127.0.0.1:8080 swift run example-watch-payment src_123 A77
///
/// Started again, it joins the existing watch. It exits with 0 when the payment is paid, and with 2 when it is not.
@main
struct WatchPayment {
    static func main() async throws {
        let arguments = ProcessInfo.processInfo.arguments.dropFirst()
        guard let source = arguments.first else {
            print("usage: example-watch-payment SOURCE [ORDER]")
            exit(64)
        }
        let name = WatchName(source)
        let environment = ProcessInfo.processInfo.environment
        try await PollerClient.withClient(
            url: environment["POLLER_URL"] ?? "http://127.0.0.1:8080",
            apiKey: environment["POLLER_API_KEY"]
        ) { poller in
            let request = WatchRequest(
                name,
                policy: "interactive",
                order: arguments.dropFirst().first
            )
            let watch = try await poller.enqueue(request)
            print("watching \(watch.source): \(watch.status ?? "not polled yet")")
            // Waits on the server, with as many requests as needed.
            let result = try await poller.wait(
                for: name,
                until: .payment(.paid),
                timeout: .seconds(120)
            )
            switch result {
            case .reached(let watch):
                let received = watch.payment?.amountReceived ?? 0
                print("paid: \(received) \(watch.payment?.currency ?? "")")
            case .closed(let watch):
                print(
                    "not paid: \(watch.payment?.state.rawValue ?? watch.closedReason ?? "unknown")"
                )
                exit(2)
            case .timedOut(let watch):
                print("not paid yet: \(watch.payment?.state.rawValue ?? "unknown")")
                exit(2)
            }
        }
    }
}
