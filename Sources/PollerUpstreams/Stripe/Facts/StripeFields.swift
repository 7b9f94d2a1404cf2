import JSONText
import PollerIdentity
import PollerPayments
import SafeNumbers

/// The members of a Stripe object, read leniently by name.
///
/// A member that is missing, null or of another type is `nil`. An irrelevant field must not break the reading of a
/// payment. A number beyond ``SafeInteger`` is `nil`, too.
struct StripeFields {
    private let members: MemberLookup

    /// Reads the members of an object; a value that is not an object has none.
    ///
    /// Of two members with the same name the first one counts, as in the rest of the package.
    init(_ json: RawJSON?) {
        members = json.map { MemberLookup($0) } ?? .none
    }

    /// Whether the object has no members.
    var isEmpty: Bool { members.isEmpty }

    /// The members that are objects, sorted by name.
    var objects: [(name: String, fields: StripeFields)] {
        members.distinct.filter { $0.value.kind == .object }.sorted { $0.name < $1.name }
            .map { ($0.name, StripeFields($0.value)) }
    }

    /// Returns a string that is not empty.
    func text(_ name: String) -> String? {
        members[name]?.string.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Returns a string in lower case.
    func word(_ name: String) -> String? { text(name)?.lowercased() }

    /// Returns an integer.
    func number(_ name: String) -> Int? { members[name]?.number.flatMap { Int(safe: $0) } }

    /// Returns a number with decimal places, such as a rate.
    func decimal(_ name: String) -> Double? {
        members[name].flatMap { Double($0.description) }.flatMap { $0.isFinite ? $0 : nil }
    }

    /// Returns a count, or `nil` if it is negative.
    func count(_ name: String) -> Int? { number(name).flatMap { $0 < 0 ? nil : $0 } }

    /// Returns an amount in the smallest unit of a currency, or `nil` if it is negative or exceeds ``Amount/max``.
    func sum(_ name: String) -> Amount? { number(name).flatMap { Amount(nonNegative: $0) } }

    func flag(_ name: String) -> Bool? { members[name]?.bool }

    /// Returns an instant, which Stripe writes in seconds since 1970.
    ///
    /// Returns `nil` for earlier instants and for instants after the year 9999.
    func time(_ name: String) -> Timestamp? {
        number(name).flatMap { $0 > 0 ? Timestamp(unixSeconds: $0) : nil }
    }

    /// Returns an object, which is empty if the member is missing.
    func object(_ name: String) -> StripeFields { StripeFields(members[name]) }

    /// Returns the objects of an array, or of the `data` of a list.
    func list(_ name: String) -> [StripeFields] {
        let value = members[name]
        let elements = value?.elements ?? value?.member("data")?.elements ?? []
        return elements.map { StripeFields($0) }
    }

    /// Returns the strings of an array.
    func texts(_ name: String) -> [String] {
        (members[name]?.elements ?? []).compactMap(\.string)
    }

    /// Returns the ID of a member that is an ID or an expanded object.
    func id(_ name: String) -> String? { text(name) ?? object(name).text("id") }
}
