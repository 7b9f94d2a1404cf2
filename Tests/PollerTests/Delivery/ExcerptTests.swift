import Poller
import Testing

@Suite("Excerpt")
struct ExcerptTests {
    @Test(
        "what steers a terminal or a page is made harmless",
        arguments: [
            ("a\u{1B}[2Jb", "a\u{FFFD}[2Jb"), ("a\r\nb\tc", "a\u{FFFD}\nb\tc"),
            ("\u{0}\u{7F}\u{9B}", "\u{FFFD}\u{FFFD}\u{FFFD}"),
            ("x\u{202E}y\u{2028}z", "x\u{FFFD}y\u{FFFD}z"), ("größe €", "größe €"),
        ]
    )
    func control(text: String, shown: String) {
        #expect(Excerpt.text(text.utf8) == shown)
    }

    @Test("it is 1 KiB at most, and cut between characters")
    func bounded() {
        let long = Excerpt.text(String(repeating: "€", count: 5000).utf8)
        #expect(long.utf8.count <= Excerpt.bytesMax && long.utf8.count > Excerpt.bytesMax - 4)
        #expect(Excerpt.text([0xFF, 0x41]) == "\u{FFFD}A")
        #expect(Excerpt.text(Array(repeating: 0xFF, count: 9000)).utf8.count <= Excerpt.bytesMax)
    }
}
