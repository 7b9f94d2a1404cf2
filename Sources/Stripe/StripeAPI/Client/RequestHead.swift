import NIOHTTP1

/// What every request of one client begins with, checked and built once.
struct RequestHead: Sendable {
    /// The headers of a GET.
    let headers: HTTPHeaders

    /// Why no request can be sent; nil when one can.
    let problem: String?

    init(key: StripeKey, version: String, account: String?, baseURL: String) {
        var headers = HTTPHeaders()
        headers.reserveCapacity(6)
        headers.add(name: "Authorization", value: "Bearer " + key.value)
        headers.add(name: "Stripe-Version", value: version)
        headers.add(name: "Accept", value: "application/json")
        if let account = account {
            headers.add(name: "Stripe-Account", value: account)
        }
        self.headers = headers
        if !key.isSendable {
            problem = "the API key is empty or has characters no key has"
        } else if !key.maySend(to: baseURL) {
            problem = "a live key goes to https addresses alone: use one of test mode, or https"
        } else if !Self.isPlain(version) {
            problem = "Stripe-Version has spaces or control characters; use StripeVersion.pinned"
        } else if account.map(Self.isPlain) == false {
            problem = "Stripe-Account has spaces or control characters; it looks like acct_123"
        } else {
            problem = nil
        }
    }

    /// Whether a text can stand in a request line or header as it is.
    static func isPlain(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }
}

extension RequestHead: CustomReflectable, CustomStringConvertible {
    /// Nothing of the headers, among which is the key.
    var description: String { "request head" }

    /// Shows the description instead of the headers.
    var customMirror: Mirror { Mirror(self, children: ["head": description]) }
}
