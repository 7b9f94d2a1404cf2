import Foundation
import Hummingbird
import Poller
import PollerIdentity
import SafeNumbers

// The parameters that several routes share, each with its check beside its description.
//
// To add one: describe it and read it in one ``RouteInput``, here or, when one resource alone has it,
// beside that resource's routes. Its check gives the sentence of the refusal, which names the parameter
// and what would be right; its schema says the same to a machine, and a fuzzer holds both together.
// Types of `Poller` check themselves (``CheckedText``): what an id may be is written there, once.

extension RouteInput where Value == Void {
    /// Nothing: any parameter is refused.
    static var nothing: Self { Self([]) { _ in } }
    /// Nothing, whatever the query says.
    static var anything: Self { nothing.lenient() }
}

extension RouteInput {
    /// A value that no request chooses.
    static func always(_ value: Value) -> Self { Self([]) { _ in value } }

    /// A segment of the path, percent-decoded and read by a type that checks itself.
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

    /// A parameter of the query, read by a type that checks itself; nil when it is absent.
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

    /// A parameter of the query that is one of an enumeration's names.
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
                throw Problem(.invalidParameter, "\(name) must be one of \(known).", field: name)
            }
            return choice
        }
    }

    /// A parameter of the query with a check of its own; nil when it is absent.
    static func reading(
        _ name: String,
        _ description: String,
        _ schema: SchemaNode,
        _ read: @escaping @Sendable (String?) throws(Problem) -> Value
    ) -> Self {
        let parameter = RouteParameter(
            name: name,
            place: .query,
            description: description,
            schema: schema
        )
        return Self([parameter]) { values throws(Problem) in try read(values.query(name)) }
    }
}

/// A value that is made of text and says itself what is wrong with it.
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
    /// Whether something is wanted; false when it is absent.
    static func flag(_ name: String, _ description: String) -> Self {
        reading(name, description, ["type": "boolean"]) { text throws(Problem) in
            switch text {
            case nil, "false": false
            case "true": true
            default:
                throw Problem(
                    .invalidParameter,
                    "\(name) must be true or false.",
                    field: name
                )
            }
        }
    }
}

extension RouteInput where Value == String {
    /// A segment of the path as it is.
    static func segment(
        _ name: String,
        _ description: String,
        _ schema: SchemaNode = ["type": "string"]
    ) -> Self {
        let parameter = RouteParameter(
            name: name,
            place: .path,
            description: description,
            schema: schema,
            isRequired: true
        )
        return Self([parameter]) { $0.path(name) }
    }
}

extension RouteInput where Value == String? {
    /// A parameter of the query as it is.
    static func text(
        _ name: String,
        _ description: String,
        _ schema: SchemaNode = ["type": "string"]
    ) -> Self {
        reading(name, description, schema) { $0 }
    }

    /// Where a list goes on; what it means is the list's own matter.
    static func cursor(lengthMax: Int = 1024) -> Self {
        let given = text(
            "cursor",
            "next of the page before.",
            ["type": "string", "maxLength": .number(lengthMax), "minLength": 1]
        )
        return Self(given.parameters) { values throws(Problem) in
            guard let text = try given.read(values) else { return nil }
            guard text.count <= lengthMax,
                let opened = values.cursors.open(text, for: values.caller)
            else {
                throw Problem(
                    .invalidParameter,
                    "cursor is not one of ours: use next of the page before, unchanged.",
                    field: "cursor"
                )
            }
            return opened
        }
    }
}

extension RouteInput where Value == Int? {
    /// A whole number within a range; nil when it is absent.
    ///
    /// `standard`: what is told to hold then.
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
                throw Problem(
                    .invalidParameter,
                    "\(name) must be a whole number of \(range.lowerBound) to \(range.upperBound).",
                    field: name
                )
            }
            return number
        }
    }
}

extension RouteInput where Value == Int {
    /// A whole number within a range, or the standard one.
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

    /// How much a page holds at most.
    static func limit(_ description: String, _ standard: Int = 50, most: Int = 500) -> Self {
        integer("limit", description, in: 1...most, standard: standard)
    }
}

extension RouteInput where Value == Duration {
    /// How long to wait for news: `30s`; zero when it is absent.
    static func wait(_ description: String = "How long to wait for news, at most 1m.") -> Self {
        reading("wait", description, .shape("Wait")) { text throws(Problem) in
            guard let text else { return .zero }
            guard let wait = Duration(text: text), wait <= LongPolls.waitMax else {
                throw Problem(
                    .invalidParameter,
                    "wait must be a span of 0s to \(LongPolls.waitMax.text), for example 30s.",
                    field: "wait"
                )
            }
            return wait
        }
    }
}

extension RouteInput where Value == [String] {
    /// Some names with commas between; empty when it is absent.
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
                throw Problem(
                    .invalidParameter,
                    "\(name) must be 1 to \(countMax) names with commas between.",
                    field: name
                )
            }
            return items
        }
    }
}

extension RouteInput where Value == AccountID? {
    /// Whose it is, as the request names it.
    fileprivate static func namedAccount(_ description: String) -> Self {
        query(AccountID.self, "account", description, .name(64))
    }
}

extension RouteInput where Value == AccountID {
    /// Whose it is; where none is named, the account that is meant (``AccountSet/standard``).
    ///
    /// It may be one that the caller may not see: whoever reads it answers that as they would what is
    /// not there.
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
    /// Which of the accounts that the caller may see; none when it names another.
    static func accounts(_ description: String) -> Self {
        let named = RouteInput<AccountID?>.namedAccount(description)
        return Self(named.parameters) { values throws(Problem) in
            values.caller.accounts.narrowed(to: try named.read(values))
        }
    }
}

extension RouteInput where Value == WatchKey {
    /// The watch that the path and the parameters `account` and `kind` name.
    static var watch: Self {
        let named = RouteInput.all(
            .path(SourceID.self, "source", "The upstream's id: src_…, pi_….", .name(255)),
            .account("The account at the upstream; default when absent."),
            .text(
                "kind",
                "Needed when the id has none of Stripe's prefixes: src_, pi_, seti_, ch_, py_.",
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
    /// The endpoint that the path names.
    static var endpoint: Self {
        path(EndpointID.self, "endpoint", "The endpoint's id.", .endpointID)
    }
}
