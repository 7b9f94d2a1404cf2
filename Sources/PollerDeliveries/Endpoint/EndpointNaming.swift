import Foundation
package import Logging
package import PollerIdentity
import PollerOperations

// Names of endpoints
//
// A name is for people. Lists, logs, the audit trail and incidents show it, where they showed only `ep_…` before. It is
// unique within an account, so that one name means one endpoint. It may change, so stored references keep the ID.
// Endpoints of the configuration file have their key in the file as name, and cannot be renamed through the API.

extension Endpoint {
    /// The maximum length of a name in Unicode scalars.
    package static let nameLengthMax = 64

    /// Checks a name from outside.
    ///
    /// - Returns: the name in Unicode's composed form, so that two names that look the same are equal.
    /// - Throws: `InvalidInput` for a name that is empty, too long, not printable or looks like an ID.
    package static func checkedName(_ text: String) throws(InvalidInput) -> String {
        func wrong(_ message: String) -> InvalidInput {
            InvalidInput("name", message)
        }
        try IdentifierSyntax.refuseSecret(text, field: "name", as: .name)
        let scalars = text.unicodeScalars
        guard let first = scalars.first, let last = scalars.last else {
            throw wrong("must not be empty; null removes the name")
        }
        guard scalars.count <= nameLengthMax else {
            throw wrong("has \(scalars.count) characters; at most \(nameLengthMax) are allowed")
        }
        // `LineText` in PollerWire is the same rule as a pattern, as far as a pattern can express it.
        guard scalars.allSatisfy(IdentifierSyntax.isVisible) else {
            throw wrong("has a character that cannot be printed; remove it")
        }
        guard !first.properties.isWhitespace, !last.properties.isWhitespace else {
            throw wrong("begins or ends with a space; remove it")
        }
        // Commands and pages take a name or an ID in the same field.
        guard !text.hasPrefix("ep_") else {
            throw wrong("must not begin with ep_, which is how IDs begin")
        }
        return text.precomposedStringWithCanonicalMapping
    }

    /// Whether the configuration file defines the endpoint: its ID is then derived from account and name, otherwise it
    /// is random.
    package var isOfFile: Bool {
        name.map { id == EndpointID(account: account, name: $0) } ?? false
    }

    /// The name in a sentence: the endpoint's own, or the host of its URL.
    package var title: String { name ?? "\(url.host)" }

    /// The log metadata of the endpoint.
    package var logged: Logger.Metadata {
        var metadata: Logger.Metadata = ["endpoint": "\(id)"]
        if let name { metadata["endpoint.name"] = "\(name)" }
        return metadata
    }
}

extension AuditTarget {
    package init(_ endpoint: Endpoint) {
        self.init(.endpoint, endpoint.id.description, name: endpoint.name)
    }
}
