import JSONText
package import PollerIdentity

/// The two files with which Apple and Google verify that links to this server belong to an app.
///
/// *Shape*: each is JSON from the app's project, served byte for byte.
/// ```
/// {"applinks": {"details": [{"appIDs": ["ABCDE12345.com.example.shop"], "components": [{"/": "/r/*"}]}]}}
/// [{"relation": ["delegate_permission/common.handle_all_urls"],
///   "target": {"namespace": "android_app", "package_name": "com.example.shop",
///              "sha256_cert_fingerprints": ["14:6D:…"]}}]
/// ```
/// They are checked for the members without which a phone ignores them silently. *Source*:
/// <https://developer.apple.com/documentation/xcode/supporting-associated-domains>,
/// <https://developer.android.com/training/app-links/verify-android-applinks>.
package struct AppLinks: Hashable, Sendable {
    /// The size limit in bytes, which is Apple's limit and far more than the other file needs.
    private static let bytesMax = 131_072
    private static let services = [
        "applinks", "webcredentials", "appclips", "activitycontinuation",
    ]

    /// The content of `/.well-known/apple-app-site-association`; `nil` without one.
    package let apple: String?
    /// The content of `/.well-known/assetlinks.json`; `nil` without one.
    package let android: String?

    /// Creates a value from the files, each of which may be missing.
    package init(apple: String? = nil, android: String? = nil) {
        self.apple = apple
        self.android = android
    }

    /// Checks the file for Apple.
    ///
    /// Errors: `InvalidInput` that names the missing member.
    package static func apple(_ text: String) throws(InvalidInput) -> String {
        let json = try json(text)
        guard json.members != nil, services.contains(where: { json.member($0) != nil }) else {
            throw wrong("must be an object with applinks, webcredentials or appclips")
        }
        guard let links = json.member("applinks") else { return text }
        guard let details = links.member("details")?.elements, !details.isEmpty else {
            throw wrong("needs applinks.details, a list with an object for each app")
        }
        for detail in details {
            let named =
                detail.member("appIDs")?.elements ?? detail.member("appID").map { [$0] } ?? []
            guard !named.isEmpty, named.allSatisfy({ isAppID($0.string ?? "") }) else {
                throw wrong(
                    "needs appIDs in each of applinks.details, such as ABCDE12345.com.example.shop"
                )
            }
        }
        return text
    }

    /// Checks the file for Android.
    ///
    /// Errors: `InvalidInput` that names the missing member.
    package static func android(_ text: String) throws(InvalidInput) -> String {
        guard let statements = try json(text).elements, !statements.isEmpty else {
            throw wrong("must be a list of statements")
        }
        for statement in statements {
            guard let relations = statement.member("relation")?.elements, !relations.isEmpty,
                relations.allSatisfy({ $0.string != nil }),
                let target = statement.member("target"),
                let namespace = target.member("namespace")?.string
            else { throw wrong("needs relation and target.namespace in each statement") }
            guard namespace == "android_app" else { continue }
            let prints = target.member("sha256_cert_fingerprints")?.elements ?? []
            guard target.member("package_name")?.string?.contains(".") == true, !prints.isEmpty,
                prints.allSatisfy({ isFingerprint($0.string ?? "") })
            else {
                throw wrong(
                    "needs package_name and sha256_cert_fingerprints, such as 14:6D:…, in each target"
                )
            }
        }
        return text
    }

    private static func json(_ text: String) throws(InvalidInput) -> RawJSON {
        guard text.utf8.count <= bytesMax else { throw wrong("has more than \(bytesMax) bytes") }
        guard let json = RawJSON(text) else { throw wrong("is not valid JSON") }
        return json
    }

    private static func wrong(_ message: String) -> InvalidInput {
        InvalidInput("app_links", message)
    }

    /// Whether a text is a team of ten letters and digits, a dot, and a bundle.
    private static func isAppID(_ text: String) -> Bool {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let team = parts.first, let bundle = parts.dropFirst().first else { return false }
        return team.utf8.count == 10
            && team.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
            && !bundle.isEmpty && !bundle.contains(" ")
    }

    /// Whether a text is thirty-two hexadecimal bytes, separated by colons.
    private static func isFingerprint(_ text: String) -> Bool {
        let bytes = text.split(separator: ":", omittingEmptySubsequences: false)
        return bytes.count == 32
            && bytes.allSatisfy { $0.count == 2 && $0.allSatisfy(\.isHexDigit) }
    }
}
