import PollerIdentity
import Testing

@Suite("NotifyURL")
struct NotifyURLTests {
    @Test(
        "valid web and mail addresses are accepted unchanged",
        arguments: [
            ("https://a.example/hook?x=1#f", "https"), ("http://127.0.0.1:8080/", "http"),
            ("HTTPS://A.EXAMPLE", "https"), ("https://[::1]:8443/x", "https"),
            ("mailto:orders+1@shop.example", "mailto"), ("https://a.example/p@th", "https"),
        ]
    )
    func accepts(_ text: String, _ scheme: String) throws {
        let url = try NotifyURL(text)
        #expect(url.description == text)
        #expect(url.scheme == scheme)
    }

    @Test(
        "invalid addresses are rejected",
        arguments: [
            "", ":", "https", "https:", "https:/", "https://", "https:///path", "https://?q",
            "https://#f", "https://:443/", "https:a.example", "https://user@a.example/",
            "https://user:pw@a.example/", "https://@a.example/", "ftp://a.example/",
            "file:///etc/passwd", "javascript:alert(1)", "//a.example/", " https://a.example/",
            "https://a.example/ ", "https://a.example/\r\nX: y", "https://a.example/\u{0}",
            "https://a.example\\@b.example/", "https://a.example:0/", "https://a.example:99999/",
            "https://a.example:x/", "https://[::1]:70000/", "https://bücher.example/",
            "https://a.example/\u{7f}",
            "mailto:", "mailto:a", "mailto:@b.example", "mailto:a@", "mailto:a@b@c.example",
            "mailto:a@b.example,c@d.example", "mailto:a@b.example?bcc=x", "mailto:<a@b.example>",
            "mailto:\"a b\"@c.example", "mailto:a;b@c.example", "mailto://a@b.example:25",
            "mailto:a@b.example\nBcc: c@d.example",
        ]
    )
    func refuses(_ text: String) {
        #expect(throws: InvalidInput.self) { try NotifyURL(text) }
    }

    @Test("a URL in its usual form is checked like any other", arguments: ["http", "https"])
    func usualForm(scheme: String) {
        let hosts = ["a", "A.b-c.1", "", ".", "a_b", "a%41", "[::1]", "u@a", "a:b@c", "ä"]
        let ports = ["", ":", ":0", ":1", ":080", ":8080", ":65535", ":65536", ":99999", ":100000"]
        let ends = ["", "/", "?", "#", "/a:b@c", "/ ", "/\\", "/\u{7f}", "/é", ":1", "x"]
        for host in hosts {
            for port in ports {
                for end in ends {
                    let text = "\(scheme)://\(host)\(port)\(end)"
                    // In capitals the scheme does not have its usual form, and is checked in full.
                    let checked = "\(scheme.uppercased())://\(host)\(port)\(end)"
                    let (url, other) = (try? NotifyURL(text), try? NotifyURL(checked))
                    #expect((url == nil) == (other == nil), "\(text)")
                    #expect(url?.scheme == other?.scheme)
                    #expect(url?.host == other?.host)
                    if let url { #expect(url.description == text) }
                }
            }
        }
        let long = String(repeating: "a", count: 2048 - scheme.count - 4)
        #expect((try? NotifyURL("\(scheme)://\(long)/")) != nil)
        #expect((try? NotifyURL("\(scheme)://\(long)/a")) == nil)
    }

    @Test("a mail address is validated in decoded form, for every byte")
    func decodedAddress() throws {
        let plain = Set("!#$%&'*+-/=?^_`{|}~".utf8)
        for byte in UInt8.min...UInt8.max {
            let scalar = Character(Unicode.Scalar(byte))
            let isAllowed =
                byte < 0x80 && (scalar.isLetter || scalar.isNumber) || plain.contains(byte)
            let digits = String(byte, radix: 16)
            let encoded = "%" + (byte < 16 ? "0" : "") + digits
            for text in ["mailto:a\(encoded)b@x.example", "mailto:a\(encoded.uppercased())b@x"] {
                let url = try? NotifyURL(text)
                #expect((url != nil) == (isAllowed || byte == UInt8(ascii: ".")), "\(text)")
                if let url { #expect(throws: Never.self) { try MailAddress(url) } }
            }
        }
        for text in ["a%00@x", "a@x%00", "a%0d%0aRCPT@x", "a%@x", "a%4@x", "a%+a@x", "a%zz@x"] {
            let error = #expect(throws: InvalidInput.self) {
                try NotifyURL("mailto:\(text)", field: "notify[1]")
            }
            #expect(error?.field == "notify[1]")
        }
    }

    @Test(
        "an address that no relay accepts is rejected with advice",
        arguments: [
            ("j%C3%BCrgen@customer.example", "xn--"), ("payer@b%c3%bccher.example", "xn--"),
            ("%22a%20b%22@customer.example", "name@host"), ("a%40b@c.example", "name@host"),
            ("payer@customer.example%20", "name@host"), ("payer@customer.example.", "name@host"),
            ("a%0d%0aRCPT@c.example", "name@host"), ("payer@-a.example", "name@host"),
            ("payer@a-.example", "name@host"), ("payer@[192.0.2.1]", "name@host"),
        ]
    )
    func unmailable(address: String, advice: String) {
        let error = #expect(throws: InvalidInput.self) { try NotifyURL("mailto:\(address)") }
        #expect(error?.message.contains(advice) == true, "\(error?.message ?? "")")
    }

    @Test("a URL has at most 2,048 characters")
    func length() throws {
        let start = "https://a.example/"
        let rest = String(repeating: "x", count: 2048 - start.count)
        #expect(try NotifyURL(start + rest).description.count == 2048)
        #expect(throws: InvalidInput.self) { try NotifyURL(start + rest + "x") }
    }

    @Test("a mail address has at most 254 characters")
    func mailLength() throws {
        let name = String(repeating: "x", count: 64)
        func host(_ lengths: Int...) -> String {
            "@" + lengths.map { String(repeating: "b", count: $0) + "." }.joined() + "example"
        }
        #expect((name + host(63, 63, 53)).utf8.count == 254)
        #expect(try NotifyURL("mailto:" + name + host(63, 63, 53)).scheme == "mailto")
        #expect(throws: InvalidInput.self) { try NotifyURL("mailto:" + name + host(63, 63, 54)) }
        #expect(throws: InvalidInput.self) { try NotifyURL("mailto:x" + host(64)) }
        #expect(throws: InvalidInput.self) { try NotifyURL("mailto:x" + name + "@b.example") }
    }

    @Test("an error names the field")
    func field() throws {
        let error = try #require(throws: InvalidInput.self) {
            try NotifyURL("ftp://x", field: "notify[2]")
        }
        #expect(error.field == "notify[2]")
        #expect(error.description.contains("https://"))
    }
}
