import PollerIdentity
import Testing

@testable import PollerUpstreams

/// The cache of the last HTTP date.
@Suite struct ParsedDateTests {
    @Test("each date has its own instant, also after another one")
    func dates() {
        let dates = ParsedDate()
        let texts = [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:38 GMT", "yesterday", "",
            "Sunday, 06-Nov-94 08:49:37 GMT",
        ]
        for text in texts + texts.flatMap({ [$0, $0] }) {
            #expect(dates.parse(text) == RetryAfter.date(text), "\(text)")
        }
        #expect(dates.parse("Sun, 06 Nov 1994 08:49:37 GMT") == Timestamp(ms: 784_111_777_000))
    }
}
