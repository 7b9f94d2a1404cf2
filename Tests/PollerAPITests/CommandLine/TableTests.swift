import Foundation
import PollerClient
import PollerWire
import Testing

@testable import pollerctl

@Suite("Tables")
struct TableTests {
    private func table(_ error: String = "-") -> Table {
        var table = Table("SOURCE", "STATE", "POLLS", "ERROR", optional: ["POLLS"])
        table.rows = [
            [.init("src_0123456789012345678901"), .init("open"), .init("7"), .init(error)],
            [.init("src_2"), .init("closed"), .init("9"), .init("-")],
        ]
        return table
    }

    @Test(
        "a narrow table drops columns, truncates a sentence, then stacks rows"
    )
    func narrow() {
        let error = "the host's name does not resolve: Name or service not known"
        let wide = table(error).lines(forPeople: true, within: 200)
        #expect(wide[0].contains("POLLS") && wide[1].hasSuffix(error))
        let cut = table(error).lines(forPeople: true, within: 60)
        #expect(!cut[0].contains("POLLS") && cut[1].hasSuffix("…"))
        #expect(cut.allSatisfy { $0.count <= 60 })
        let lines = table(error).lines(forPeople: true, within: 40)
        #expect(
            lines == [
                "src_0123456789012345678901", "  state  open", "  polls  7",
                "  error  the host's name does not", "         resolve: Name or service not",
                "         known", "", "src_2", "  state  closed", "  polls  9",
            ]
        )
    }

    @Test("an address column is truncated if truncating sentences is not enough")
    func addresses() {
        var table = Table("ID", "URL", "ERROR", shortened: ["URL"])
        let url = "https://shop.example.com/hooks/payments"
        table.rows = [[.init("dlv_1"), .init(url), .init("the receiver did not answer in time")]]
        let wide = table.lines(forPeople: true, within: 100)
        #expect(wide[1].contains("  \(url)  "))
        let narrow = table.lines(forPeople: true, within: 50)
        #expect(narrow[1] == "dlv_1  https://shop.example.com…  the receiver di…")
        #expect(table.lines(forPeople: true, within: 40).count == 4)
        #expect(table.lines(forPeople: false)[0].contains("\t\(url)\t"))
    }

    @Test("output for programs has every column; an empty table prints nothing")
    func programs() {
        let piped = table("a b").lines(forPeople: false, within: 20)
        #expect(piped == ["src_0123456789012345678901\topen\t7\ta b", "src_2\tclosed\t9\t-"])
        #expect(Table("A", "B").lines(forPeople: false) == [])
    }

    @Test(
        "the distance of a time from now",
        arguments: [
            (0, "now"), (-999, "now"), (999, "now"), (4_200, "in 4 s"), (-90_000, "90 s ago"),
            (600_000, "in 10 min"), (-7_200_000, "2 h ago"), (30 * 86_400_000, "in 30 d"),
        ] as [(Int64, String)]
    )
    func relative(ms: Int64, shown: String) {
        let now = Date(timeIntervalSince1970: 1_800_000_000)
        let time = PollerWire.Time(ms: 1_800_000_000_000 + ms)
        #expect(time.relative(to: now) == shown)
    }

    @Test(
        "the display width of a text",
        arguments: [
            ("", 0), ("abc", 3), ("\u{DC}ber", 4), ("e\u{301}", 1), ("\u{6CE8}\u{6587}", 4),
            ("\u{C8FC}\u{BB38}1", 5), ("\u{FF21}", 2), ("\u{FF71}", 1), ("\u{1F600}", 2),
            ("\u{2764}\u{FE0F}", 2), ("\u{1F468}\u{200D}\u{1F469}", 2), ("\u{200B}", 0),
            ("\u{2026}", 1),
        ] as [(String, Int)]
    )
    func columns(text: String, count: Int) {
        #expect(text.columns == count)
    }

    @Test("columns are aligned and truncated by display width")
    func wide() {
        var table = Table("ORDER", "STATE")
        table.rows = [
            [.init("\u{6CE8}\u{6587}77"), .init("open")], [.init("A1"), .init("closed")],
        ]
        #expect(
            table.lines(forPeople: true, within: 80)
                == ["ORDER   STATE", "\u{6CE8}\u{6587}77  open", "A1      closed"]
        )
        let long = String(repeating: "\u{6CE8}\u{6587} ", count: 12)
        table.rows = [[.init("A1"), .init(long)]]
        let cut = table.lines(forPeople: true, within: 40)
        #expect(cut.allSatisfy { $0.columns <= 40 })
        #expect(cut.last?.hasSuffix("…") == true)
        #expect(Terminal.cut("\u{6CE8}\u{6587}", to: 3) == "\u{6CE8}")
    }

    @Test("wrapping splits between words; truncating ignores colour sequences")
    func lines() {
        #expect(Terminal.wrapped("one two three", within: 7) == ["one two", "three"])
        #expect(Terminal.wrapped("src_012345678901 x", within: 5) == ["src_012345678901", "x"])
        #expect(Terminal.wrapped("one two", within: nil) == ["one two"])
        let coloured = "\u{1B}[31mred\u{1B}[0m and more"
        #expect(Terminal.cut(coloured, to: 5) == "\u{1B}[31mred\u{1B}[0m a")
        #expect(Terminal.cut("short", to: 60) == "short")
    }
}
