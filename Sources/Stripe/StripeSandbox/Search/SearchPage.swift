import HTTPTypes
import JSONText
import NIOCore
import SafeNumbers

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// An object that `/v1/charges/search`, `/v1/payment_intents/search` or `/v1/customers/search` finds.
///
/// Changes are searchable immediately. At Stripe this takes up to a minute, so a shop must not search for an object
/// it has just created.
/// *Source*: <https://docs.stripe.com/search>, <https://docs.stripe.com/api/pagination/search>.
protocol SearchableObject: OwnedObject {
    static var searchFields: SearchQuery.Fields { get }

    /// Returns the value of a search field.
    func value(of clause: SearchQuery.Clause) -> SearchQuery.Value?
}

extension ObjectTable where Object: SearchableObject {
    /// Searches the caller's objects; `json` returns the JSON of an object.
    func search(
        _ call: APICall,
        json: (inout Object) -> ByteBuffer
    ) throws(APIError) -> APIReply {
        try SearchPage(call, Object.searchFields).reply(all) { number, query in
            let object = self[number]
            return object.account == call.account && !object.isDeleted
                && query.matches { object.value(of: $0) }
        } json: { number in
            var object = self[number]
            return json(&object)
        }
    }
}

/// One page of a search result, newest first.
struct SearchPage {
    private let query: SearchQuery
    private let limit: Int
    /// The index of the last object of the previous page.
    private let olderThan: Int?
    private let isCounted: Bool
    private let url: String

    /// Reads `query`, `limit`, `page` and `expand[]=total_count`.
    init(_ call: APICall, _ fields: SearchQuery.Fields) throws(APIError) {
        try call.form.allow(["expand", "limit", "page", "query"])
        query = try SearchQuery(try call.form.required("query"), fields)
        limit = try ListPage.limit(call)
        olderThan = try call.form["page"].map { page throws(APIError) in
            guard let number = Self.number(ofPage: page) else {
                throw APIError.invalid("Invalid page: \(page)", param: "page")
            }
            return number
        }
        isCounted = call.form.list("expand").contains("total_count")
        url = call.path
    }

    /// Renders the page; `numbers` are oldest first.
    func reply(
        _ numbers: Range<Int>,
        where matches: (Int, SearchQuery) -> Bool,
        json: (Int) -> ByteBuffer
    ) -> APIReply {
        var picked: [Int] = []
        var number = min(olderThan ?? numbers.upperBound, numbers.upperBound) - 1
        while number >= numbers.lowerBound, picked.count <= limit {
            if matches(number, query) { picked.append(number) }
            number -= 1
        }
        let hasMore = picked.count > limit
        if hasMore { picked.removeLast() }
        let total = isCounted ? numbers.count { matches($0, query) } : nil
        return APIReply(
            body: JSONWriter.object { writer in
                writer.field("object", "search_result")
                writer.array("data") { writer in
                    for number in picked { writer.raw(json(number).readableBytesView) }
                }
                writer.field("has_more", hasMore)
                writer.field("next_page", hasMore ? picked.last.map(Self.page) : nil)
                if let total { writer.field("total_count", total) }
                writer.field("url", url)
            }
        )
    }

    /// Returns an opaque name of a position, which new objects do not move.
    private static func page(after number: Int) -> String {
        Data("older:\(number)".utf8).base64EncodedString()
    }

    private static func number(ofPage page: String) -> Int? {
        guard let data = Data(base64Encoded: page) else { return nil }
        let text = String(decoding: data, as: UTF8.self)
        return text.hasPrefix("older:") ? Int(decimal: text.dropFirst("older:".count)) : nil
    }
}

extension SandboxCharge: SearchableObject {
    static let searchFields = SearchQuery.Fields(
        resource: "charges",
        kinds: [
            "amount": .number, "billing_details.address.postal_code": .token, "created": .number,
            "currency": .token, "customer": .token, "disputed": .token, "metadata": .token,
            "payment_method_details.*.brand": .token,
            "payment_method_details.*.exp_month": .token,
            "payment_method_details.*.exp_year": .token,
            "payment_method_details.*.fingerprint": .token,
            "payment_method_details.*.last4": .token, "refunded": .token, "status": .token,
        ]
    )

    func value(of clause: SearchQuery.Clause) -> SearchQuery.Value? {
        switch clause.field {
        case "amount": return .number(amount)
        case "billing_details.address.postal_code": return .init(billing.address["postal_code"])
        case "created": return .number(created)
        case "currency": return .text(currency)
        case "customer": return .init(customer)
        case "disputed": return .text(String(isDisputed))
        case "metadata": return .init(clause.key.flatMap { metadata[$0] })
        case "refunded": return .text(String(isRefunded))
        case "status": return .text(status)
        default: break
        }
        let parts = clause.field.split(separator: ".")
        guard parts.count == 3, let name = parts.last, parts.dropFirst().first == methodType[...],
            let card
        else { return nil }
        switch name {
        case "brand": return .text(card.network)
        case "exp_month": return .text(String(card.expiryMonth))
        case "exp_year": return .text(String(card.expiryYear))
        case "fingerprint": return .text(card.fingerprint)
        case "last4": return .text(card.last4)
        default: return nil
        }
    }
}

extension SandboxIntent: SearchableObject {
    static let searchFields = SearchQuery.Fields(
        resource: "payment_intents",
        kinds: [
            "amount": .number, "created": .number, "currency": .token, "customer": .token,
            "metadata": .token, "status": .token,
        ]
    )

    func value(of clause: SearchQuery.Clause) -> SearchQuery.Value? {
        switch clause.field {
        case "amount": .number(amount)
        case "created": .number(created)
        case "currency": .text(currency)
        case "customer": .init(customer)
        case "metadata": .init(clause.key.flatMap { metadata[$0] })
        case "status": .text(status)
        default: nil
        }
    }
}

extension SandboxCustomer: SearchableObject {
    static let searchFields = SearchQuery.Fields(
        resource: "customers",
        kinds: [
            "created": .number, "email": .string, "metadata": .token, "name": .string,
            "phone": .string,
        ]
    )

    func value(of clause: SearchQuery.Clause) -> SearchQuery.Value? {
        switch clause.field {
        case "created": .number(created)
        case "email": .init(email)
        case "metadata": .init(clause.key.flatMap { metadata[$0] })
        case "name": .init(name)
        case "phone": .init(phone)
        default: nil
        }
    }
}

extension SearchQuery.Value {
    /// Creates a value from an optional text.
    fileprivate init?(_ text: String?) {
        guard let text else { return nil }
        self = .text(text)
    }
}
