import PollerIdentity
import PollerPayments
import Testing

@Suite("App links")
struct AppLinksTests {
    private static let print = (1...32).map { "0\($0 % 10)" }.joined(separator: ":")

    @Test(
        "a valid file for Apple is accepted unchanged",
        arguments: [
            #"{"applinks":{"details":[{"appIDs":["ABCDE12345.com.example.shop"],"components":[{"/":"/r/*"}]}]}}"#,
            #"{ "applinks": {"apps": [], "details": [{"appID": "ABCDE12345.com.example", "paths": ["/r/*"]}]} }"#,
            #"{"webcredentials":{"apps":["ABCDE12345.com.example.shop"]}}"#,
        ]
    )
    func apple(text: String) throws {
        #expect(try AppLinks.apple(text) == text)
    }

    @Test(
        "a file that Apple would ignore is rejected",
        arguments: [
            "", "{", "[]", "{}", #"{"applinks":{}}"#, #"{"applinks":{"details":[]}}"#,
            #"{"applinks":{"details":[{"components":[]}]}}"#,
            #"{"applinks":{"details":[{"appIDs":["com.example.shop"]}]}}"#,
            #"{"applinks":{"details":[{"appIDs":["ABCDE12345"]}]}}"#,
            #"{"applinks":{"details":{"ABCDE12345.com.example":{"paths":[]}}}}"#,
        ]
    )
    func appleRefused(text: String) {
        #expect(throws: InvalidInput.self) { try AppLinks.apple(text) }
    }

    @Test("a valid file for Android is accepted unchanged, including statements about websites")
    func android() throws {
        let text = """
            [{"relation": ["delegate_permission/common.handle_all_urls"], "target": {"namespace": "android_app",
              "package_name": "com.example.shop", "sha256_cert_fingerprints": ["\(Self.print)"]}},
             {"relation": ["delegate_permission/common.get_login_creds"],
              "target": {"namespace": "web", "site": "https://shop.example"}}]
            """
        #expect(try AppLinks.android(text) == text)
    }

    @Test(
        "a file that Android would ignore is rejected",
        arguments: [
            "{}", "[]", "[{}]", #"[{"relation":[],"target":{"namespace":"web"}}]"#,
            #"[{"relation":["a"],"target":{"namespace":"android_app"}}]"#,
            #"[{"relation":["a"],"target":{"namespace":"android_app","package_name":"com.example","sha256_cert_fingerprints":["14:6D"]}}]"#,
        ]
    )
    func androidRefused(text: String) {
        #expect(throws: InvalidInput.self) { try AppLinks.android(text) }
    }

    @Test("a file above Apple's size limit is rejected")
    func size() {
        let long = String(repeating: " ", count: 131_072)
        #expect(throws: InvalidInput.self) { try AppLinks.apple(#"{"webcredentials":{}}"# + long) }
    }
}
