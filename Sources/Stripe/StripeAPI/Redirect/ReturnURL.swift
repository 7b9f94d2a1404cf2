#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The address a customer comes back to, and how a received one is told to be it.
///
/// *Rules*, those of stripe-ios (`NSURLComponents+Stripe`): scheme and host match in any letter case, the path
/// exactly, and every query item of the registered address must be there with the same value; more items may be,
/// as Stripe adds some. Of a name given twice the last value counts.
public struct ReturnURL: Hashable, Sendable {
    private let scheme: String?
    private let host: String?
    private let path: String
    private let items: [String: String?]

    /// Reads an address; nil when it is none.
    public init?(_ address: String) {
        guard let components = URLComponents(string: address) else { return nil }
        scheme = components.scheme?.lowercased()
        host = components.host?.lowercased()
        path = components.path
        items = (components.queryItems ?? [])
            .reduce(into: [:]) { items, item in items.updateValue(item.value, forKey: item.name) }
    }

    /// Whether a received address is this one come back.
    public func matches(_ received: ReturnURL) -> Bool {
        scheme == received.scheme && host == received.host && path == received.path
            && items.allSatisfy { name, value in
                received.items[name].map { $0 == value } == true
            }
    }

    /// What Stripe added to the query.
    public var result: RedirectResult {
        RedirectResult(items.compactMapValues { $0 })
    }
}

extension ReturnURL: RedactedValue {}
