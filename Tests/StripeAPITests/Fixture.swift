import Foundation

/// Example objects of Stripe's documentation, SDKs and OpenAPI specification, read beside this file.
enum Fixture {
    static func data(_ name: String) throws -> Data {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "Fixtures"
        )
        return try Data(contentsOf: folder.appending(path: name + ".json"))
    }

    /// One object of a file, found under a key of its top-level object, as JSON.
    static func object(_ name: String, _ group: String, _ key: String) throws -> Data {
        let root = try JSONSerialization.jsonObject(with: data(name)) as? [String: Any]
        let objects = root?[group] as? [String: Any]
        return try JSONSerialization.data(withJSONObject: objects?[key] as Any)
    }
}
