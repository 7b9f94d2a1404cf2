import Foundation
import PollerClient

/// Registers a named endpoint once, even if it is started again, and lists the paid watches of an order.
///
///     POLLER_URL=http://127.0.0.1:8080 swift run example-register-endpoint https://shop.example/hook Shop A77
@main
struct RegisterEndpoint {
    static func main() async throws {
        let arguments = Array(ProcessInfo.processInfo.arguments.dropFirst())
        guard arguments.count == 3 else {
            print("usage: example-register-endpoint URL NAME ORDER")
            exit(64)
        }
        let environment = ProcessInfo.processInfo.environment
        try await PollerClient.withClient(
            url: environment["POLLER_URL"] ?? "http://127.0.0.1:8080",
            apiKey: environment["POLLER_API_KEY"]
        ) { poller in
            var wanted = EndpointUpdate(url: arguments[0], types: ["payment.*"])
            wanted.name = arguments[1]
            do {
                // With a key, a repeated request creates no second endpoint.
                let made = try await poller.createEndpoint(wanted, idempotencyKey: "shop-1")
                print("registered \(made.id); its secret is \(made.secret ?? "kept")")
            } catch PollerError.problem(let problem) where problem.code == "endpoint_name_taken" {
                print("there already: \(problem.detail)")
            }
            var cursor: String?
            repeat {
                let page = try await poller.list(
                    payment: "paid",
                    matching: "order=\(arguments[2])",
                    cursor: cursor
                )
                for watch in page.items {
                    print(watch.source, watch.payment?.amountReceived ?? 0, watch.createdAt)
                }
                cursor = page.next
            } while cursor != nil
        }
    }
}
