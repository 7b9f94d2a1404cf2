import Foundation
import Hummingbird
import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerPayments
import SafeNumbers

// The parameters that several routes share, each with its check and description.
//
// To add a parameter, describe and parse it in one ``RouteInput``, here or next to the routes of its only resource. The
// check produces the error message, which names the parameter and the correct value. The schema states the same for
// machines, and a fuzzer compares both. Types of `Poller` check themselves (``CheckedText``), so the rules of an ID are
// defined once.

extension RouteInput where Value == Void {
    /// No parameters: any parameter is rejected.
    static var nothing: Self { Self([]) { _ in } }
}

extension RouteInput {
    /// Returns an input with a constant value.
    static func always(_ value: Value) -> Self { Self([]) { _ in value } }

    /// Returns a path segment, percent-decoded and parsed by a type that checks itself.
    static func path(
        _ type: Value.Type = Value.self,
        _ name: String,
        _ description: String,
        _ schema: SchemaNode
    ) -> Self where Value: CheckedText {
        let segment = RouteInput<String>.segment(name, description, schema)
        return Self(segment.parameters) { values throws(Problem) in
            let text = try segment.read(values)
            return try Problem.checked(.invalidParameter) { () throws(InvalidInput) in
                try Value(text.removingPercentEncoding ?? text)
            }
        }
    }

    /// Returns a query parameter, parsed by a type that checks itself; `nil` if it is absent.
    static func query<Checked: CheckedText>(
        _ type: Checked.Type,
        _ name: String,
        _ description: String,
        _ schema: SchemaNode
    ) -> Self where Value == Checked? {
        reading(name, description, schema) { text throws(Problem) in
            guard let text else { return nil }
            return try Problem.checked(.invalidParameter) { () throws(InvalidInput) in
                try Checked(text)
            }
        }
    }

    /// Returns a query parameter with a value of an enumeration.
    static func choice<Choice: RawRepresentable & CaseIterable & Sendable>(
        _ name: String,
        _ description: String,
        _ schema: SchemaNode? = nil
    ) -> Self where Value == Choice?, Choice.RawValue == String {
        let all = Choice.allCases.map(\.rawValue)
        return reading(name, description, schema ?? .choice(all)) { text throws(Problem) in
            guard let text else { return nil }
            guard let choice = Choice(rawValue: text) else {
                let known = all.joined(separator: ", ")
                throw Problem.parameter(name, "must be one of \(known).")
            }
            return choice
        }
    }

    /// Returns a query parameter with a custom check; `nil` if it is absent.
    static func reading(
        _ name: String,
        _ description: String,
        _ schema: SchemaNode,
        _ read: @escaping @Sendable (String?) throws(Problem) -> Value
    ) -> Self {
        let parameter = RouteParameter(
            name: name,
            location: .query,
            description: description,
            schema: schema
        )
        return Self([parameter]) { values throws(Problem) in try read(values.query(name)) }
    }
}

/// A value that is parsed from text, with its own error message.
protocol CheckedText: Sendable {
    init(_ text: String) throws(InvalidInput)
}

extension AccountID: CheckedText {}
extension SourceID: CheckedText {}
extension OrderID: CheckedText {}
extension SourceStatus: CheckedText {}
extension EndpointID: CheckedText {}
extension DeliveryID: CheckedText {}

extension RouteInput where Value == Bool {
    /// Returns a Boolean query parameter, `false` if it is absent.
    static func flag(_ name: String, _ description: String) -> Self {
        reading(name, description, ["type": "boolean"]) { text throws(Problem) in
            switch text {
            case nil, "false": false
            case "true": true
            default:
                throw Problem.parameter(name, "must be true or false.")
            }
        }
    }
}

extension RouteInput where Value == String {
    /// Returns an unchecked path segment.
    static func segment(
        _ name: String,
        _ description: String,
        _ schema: SchemaNode = ["type": "string"]
    ) -> Self {
        let parameter = RouteParameter(
            name: name,
            location: .path,
            description: description,
            schema: schema,
            isRequired: true
        )
        return Self([parameter]) { $0.path(name) }
    }
}

extension RouteInput where Value == String? {
    /// Returns an unchecked query parameter.
    static func text(
        _ name: String,
        _ description: String,
        _ schema: SchemaNode = ["type": "string"]
    ) -> Self {
        reading(name, description, schema) { $0 }
    }

    /// Returns the cursor of a list.
    ///
    /// The list defines its meaning.
    static func cursor(lengthMax: Int = 1024) -> Self {
        let given = text(
            "cursor",
            "next of the previous page.",
            ["type": "string", "maxLength": .number(lengthMax), "minLength": 1]
        )
        return Self(given.parameters) { values throws(Problem) in
            guard let text = try given.read(values) else { return nil }
            guard text.count <= lengthMax,
                let opened = values.cursors.open(text, for: values.caller)
            else { throw Problem.invalidCursor }
            return opened
        }
    }
}

extension RouteInput where Value == Int? {
    /// Returns a whole number in a range; `nil` if it is absent.
    ///
    /// `standard` is the documented default.
    static func integer(
        _ name: String,
        _ description: String,
        in range: ClosedRange<Int>,
        standard: Int? = nil
    ) -> Self {
        reading(name, description, .integer(range, standard: standard)) { text throws(Problem) in
            guard let text else { return nil }
            guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                let number = Int(decimal: text),
                range.contains(number)
            else {
                throw Problem.parameter(
                    name,
                    "must be a whole number of \(range.lowerBound) to \(range.upperBound)."
                )
            }
            return number
        }
    }
}

extension RouteInput where Value == Int {
    /// Returns a whole number in a range, or the default.
    static func integer(
        _ name: String,
        _ description: String,
        in range: ClosedRange<Int>,
        standard: Int
    ) -> Self {
        .all(.integer(name, description, in: range, standard: .some(standard))) { number in
            number ?? standard
        }
    }

    /// Returns the maximum page size.
    static func limit(_ description: String, _ standard: Int = 50, most: Int = 500) -> Self {
        integer("limit", description, in: 1...most, standard: standard)
    }
}

extension RouteInput where Value == Duration {
    /// Returns how long to wait for a change, such as `30s`; zero if it is absent.
    static func wait(_ description: String = "How long to wait for a change, at most 1m.") -> Self {
        reading("wait", description, .shape("Wait")) { text throws(Problem) in
            guard let text else { return .zero }
            guard let wait = Duration(text: text), wait <= LongPolls.waitMax else {
                throw Problem.parameter(
                    "wait",
                    "must be a span of 0s to \(LongPolls.waitMax.text), for example 30s."
                )
            }
            return wait
        }
    }
}

extension RouteInput where Value == [String] {
    /// Returns a comma-separated list of names; empty if it is absent.
    static func list(
        _ name: String,
        _ description: String,
        _ schema: SchemaNode,
        countMax: Int
    ) -> Self {
        reading(name, description, schema) { text throws(Problem) in
            guard let text else { return [] }
            let items = text.split(separator: ",", omittingEmptySubsequences: false)
                .map(String.init)
            guard items.count <= countMax, items.allSatisfy({ !$0.isEmpty }) else {
                throw Problem.parameter(name, "must be 1 to \(countMax) names separated by commas.")
            }
            return items
        }
    }
}

extension RouteInput where Value == AccountID? {
    /// Returns the account that the request names.
    fileprivate static func namedAccount(_ description: String) -> Self {
        query(AccountID.self, "account", description, .name(64))
    }
}

extension RouteInput where Value == AccountID {
    /// Returns the account that the request names, or the default account (``AccountSet/standard``).
    ///
    /// It may be an account that the caller may not access. The route then responds as for a missing object.
    static func account(_ description: String) -> Self {
        let named = RouteInput<AccountID?>.namedAccount(description)
        return Self(named.parameters) { values throws(Problem) in
            guard let account = try named.read(values) else {
                return try values.caller.account(named: nil)
            }
            return account
        }
    }
}

extension RouteInput where Value == AccountSet {
    /// Returns the accounts the caller may access, narrowed to the named one.
    static func accounts(_ description: String) -> Self {
        let named = RouteInput<AccountID?>.namedAccount(description)
        return Self(named.parameters) { values throws(Problem) in
            values.caller.accounts.narrowed(to: try named.read(values))
        }
    }
}

extension RouteInput where Value == WatchKey {
    /// The watch from the path and the parameters `account` and `kind`.
    static var watch: Self {
        let named = RouteInput.all(
            .path(SourceID.self, "source", "The upstream's ID: src_…, pi_….", .name(255)),
            .account("The account at the upstream. Default: default."),
            .text(
                "kind",
                "Required if the ID has none of Stripe's prefixes: src_, pi_, seti_, ch_, py_.",
                .shape("Kind")
            )
        ) { source, account, kind throws(Problem) in
            WatchKey(
                account: account,
                source: source,
                kind: try SourceKind(named: kind, of: source, code: .invalidParameter)
            )
        }
        return Self(named.parameters) { values throws(Problem) in
            let key = try named.read(values)
            guard values.caller.accounts.contains(key.account) else {
                throw Problem.watchNotFound(key)
            }
            return key
        }
    }
}

extension RouteInput where Value == EndpointID {
    /// The endpoint in the path.
    static var endpoint: Self {
        path(EndpointID.self, "endpoint", "The endpoint's ID.", .endpointID)
    }
}
