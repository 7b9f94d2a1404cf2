import JSONText
import Poller
import PollerIdentity
import SafeNumbers

/// The members of one of Stripe's objects, read by name and leniently.
///
/// A member that is missing, null or of another type is nil, whatever stands around it: what is said of
/// a payment must not depend on a field nobody asked for. A number beyond ``SafeInteger`` is none.
struct StripeFields {
    private let members: [String: RawJSON]

    /// The members of an object; none when the value is no object.
    init(_ json: RawJSON?) {
        let all = json?.members ?? []
        // The first of a name counts, as everywhere.
        members = Dictionary(all.map { ($0.name, $0.value) }) { first, _ in first }
    }

    /// Whether there is nothing in it.
    var isEmpty: Bool { members.isEmpty }

    /// The names of the members that are objects, in order.
    var objects: [String] {
        members.filter { $0.value.kind == .object }.map(\.key).sorted()
    }

    /// A text that says something.
    func text(_ name: String) -> String? {
        members[name]?.string.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// A word, in lower case.
    func word(_ name: String) -> String? { text(name)?.lowercased() }

    /// A whole number.
    func number(_ name: String) -> Int? { members[name]?.number.flatMap { Int(safe: $0) } }

    /// A number with decimal places, such as a rate.
    func decimal(_ name: String) -> Double? {
        members[name].flatMap { Double($0.description) }.flatMap { $0.isFinite ? $0 : nil }
    }

    /// A count of things; nil when it is negative.
    func count(_ name: String) -> Int? { number(name).flatMap { $0 < 0 ? nil : $0 } }

    /// A sum, in the smallest unit of a currency; nil when it is negative or beyond ``Amount/max``.
    func sum(_ name: String) -> Amount? { number(name).flatMap { Amount(nonNegative: $0) } }

    func flag(_ name: String) -> Bool? { members[name]?.bool }

    /// An instant, which Stripe writes in seconds since 1970; nil before that and beyond the year 9999.
    func time(_ name: String) -> Timestamp? {
        number(name).flatMap { $0 > 0 ? Timestamp(unixSeconds: $0) : nil }
    }

    /// An object; empty when there is none.
    func object(_ name: String) -> StripeFields { StripeFields(members[name]) }

    /// The objects of an array, or of a list's `data`.
    func list(_ name: String) -> [StripeFields] {
        let value = members[name]
        let elements = value?.elements ?? value?.member("data")?.elements ?? []
        return elements.map { StripeFields($0) }
    }

    /// The texts of an array.
    func texts(_ name: String) -> [String] {
        (members[name]?.elements ?? []).compactMap(\.string)
    }

    /// The id of what stands there: as a text, or as an object that was expanded.
    func id(_ name: String) -> String? { text(name) ?? object(name).text("id") }
}
