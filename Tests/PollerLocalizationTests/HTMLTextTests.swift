import PollerLocalization
import PollerTesting
import Testing

@Suite("Text in HTML")
struct HTMLTextTests {
    @Test("the five special characters are escaped")
    func specials() {
        #expect(HTMLText.escaped(#"<a b="c">'&ü€"#) == "&lt;a b=&quot;c&quot;&gt;&#39;&amp;ü€")
    }

    @Test("a special character with any combining mark is escaped", arguments: MarkedText.specials)
    func marks(special: Unicode.Scalar) {
        #expect(MarkedText.joining.count > 2000)
        #expect(!MarkedText.isMarkup(HTMLText.escaped(MarkedText.around(special))))
    }

    @Test("this test's check finds unescaped characters", arguments: MarkedText.specials)
    func check(special: Unicode.Scalar) {
        #expect(MarkedText.isMarkup("a\(special)\u{301}"))
    }
}
