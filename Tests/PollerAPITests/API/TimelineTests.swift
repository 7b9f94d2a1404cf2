import Poller
import PollerTesting
import PollerWire
import Testing

@testable import PollerAPI

@Suite("the story of a payment")
struct TimelineTests {
    private let key = WatchKey(account: .main, source: SourceID(unchecked: "src_1"), kind: .source)

    /// What is told of notes to somebody who may see some accounts.
    private func told(_ notes: [WatchNote], to accounts: AccountSet) async throws -> [String] {
        let store = MemoryStore(time: ClockTime(ContinuousClock()))
        _ = try await store.enqueue([try NewWatch(key: key)])
        for note in notes { try await store.note(note, of: key) }
        let watch: WatchSnapshot = try #require(try await store.snapshot(of: key))
        let kept = try await store.notes(of: key)
        let story = Timeline(watch: watch, events: [], notes: kept, told: [], accounts: accounts)
        return story.entries.filter { $0.kind.known == .deed }.map(\.text)
    }

    @Test("who may see one account is told no name of a key of others")
    func names() async throws {
        let actors = [
            AuditActor(name: "everywhere"),
            AuditActor(name: "two", accounts: .some([.main, AccountID(unchecked: "acme")])),
            AuditActor(name: "ours", accounts: .some([.main])),
        ]
        let notes = actors.map { WatchNote(deed: "pollWatch", by: $0, of: key) }
        #expect(
            try await told(notes, to: .some([.main])) == [
                "another key had it looked at.", "another key had it looked at.",
                "ours had it looked at.",
            ]
        )
        #expect(
            try await told(notes, to: .all) == [
                "everywhere had it looked at.", "two had it looked at.", "ours had it looked at.",
            ]
        )
    }

    @Test("a note of a later release is passed over")
    func strangers() {
        #expect(WatchNote(json: #"{"kind":"seance","what":"x"}"#) == nil)
        let note = WatchNote(.hint, "a.b", by: WatchNote.list)
        #expect(WatchNote(json: note.json) == note)
    }

    @Test("words make sentences, and commands stay commands")
    func sentences() {
        #expect(StoryWords.sentence("no answer") == "No answer.")
        #expect(StoryWords.sentence("Done!") == "Done!")
        #expect(StoryWords.sentence("pollerctl lane resume x") == "pollerctl lane resume x.")
        #expect(StoryWords.sentence("") == "")
    }
}
