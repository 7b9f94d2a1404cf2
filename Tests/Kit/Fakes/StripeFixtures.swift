import Foundation
package import JSONText

/// Stripe's enumerations and example objects, which the tests of several targets read.
///
/// They are in `Tests/StripeAPITests/Fixtures`, each file with a member that states its origin.
package enum StripeFixtures {
    /// Returns all values of one of Stripe's enumerations, such as `payment_intent.status`.
    package static func words(_ name: String) throws -> [String] {
        guard let words = try file("words").member(name)?.elements?.compactMap(\.string) else {
            throw ConformanceFailure(message: "words.json has no \(name)")
        }
        return words
    }

    /// Returns the objects of a file below one of its members, by name and in order.
    package static func objects(_ file: String, _ group: String) throws -> [RawJSON.Member] {
        guard let objects = try self.file(file).member(group)?.members else {
            throw ConformanceFailure(message: "\(file).json has no \(group)")
        }
        return objects.sorted { $0.name < $1.name }
    }

    private static func file(_ name: String) throws -> RawJSON {
        let tests = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let place = tests.appending(path: "StripeAPITests/Fixtures/\(name).json")
        guard let json = RawJSON(Array(try Data(contentsOf: place))) else {
            throw ConformanceFailure(message: "\(name).json is not JSON")
        }
        return json
    }
}
