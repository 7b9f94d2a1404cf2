import Foundation
import PollerTesting
import RedisClient
import Synchronization
import Testing

@testable import PollerRedis

/// The scripts of a release as `ops/release` has kept them: what its processes call while the next one
/// is rolled out.
struct ReleasedScripts: Sendable {
    /// Scripts that take other arguments, or answer otherwise, than those of a release, by that release.
    ///
    /// Today's code cannot call the former ones, so the programs themselves must meet: the chaos run with
    /// POLLER_PREVIOUS_BIN_DIR. What they store must be the same all the same.
    private static let calledOtherwise: [String: Set<ScriptName>] = [
        // Its index of searches has only fingerprints and finds no words.
        "0.3.0": [.lane, .mark, .endpointList, .restore, .index, .search]
    ]

    /// Behaviours that a store has only in a newer form than a release makes.
    private static let ofNewerForms: [Int: Set<String>] = [
        2: [
            "watches are listed the newest first, whatever filters are given",
            "a range of days is listed alone, the newest first, page by page",
            "a list continues where it was while watches are added, closed and polled",
            "a watch that begins again is the newest, and one that is forgotten is in no list",
            "deliveries are listed the newest first, and keep their places",
            "of deliveries that ended well long ago only what was accepted is kept",
            "of a restored watch it is known, also without bodies, that all was told",
        ]
    ]

    /// Behaviours of today's scripts that those of a release do not have, by that release.
    private static let ofLaterReleases: [String: Set<String>] = [
        "0.3.0": [
            // It indexes no words, so they do not find its watches.
            "watches are found by source, order and the metadata that are searched",
            "watches are found however people write and type, and by who gets mail",
            "what is found by a word is listed the newest first, page by page",
            "an order is found by its whole name, and by the words of it",
            "who has many watches finds all of them, page by page and each once",
            "a source that is somebody's order too is found once",
            // It left out what was too many.
            "a join with more endpoints than a watch can have changes nothing",
            // It gave a watch up after five answers that made no sense, whatever its lane answered.
            "what the last failure met is kept until an attempt succeeds",
            "answers that make no sense open the circuit as denials do",
            "a claim says that the circuit of its lane is open",
            "a hint opens what is dead as not understood, and it goes on",
            // It knows no failure of a whole account, and lists no departed processes.
            "a revoked key opens the circuit whatever item finds it out",
            "departures are listed for a day, clean and lost, the newest first",
            // Its names come only from its configuration file, which has each of them once.
            "a name belongs to one endpoint of an account",
            "a name is changed, freed and kept by changes of other fields",
            "of many who take one name at once, one gets it",
        ]
    ]

    /// As in the file's name.
    let release: String
    /// The form of the stores that it made.
    let form: Int
    private let scripts: [ScriptName: RedisScript]

    /// Those of every release that has been kept, the oldest first.
    static func all() throws -> [ReleasedScripts] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "Fixtures")
        return try FileManager.default.contentsOfDirectory(atPath: folder.path())
            .filter { $0.hasPrefix("scripts-") }
            .sorted { $0.compare($1, options: .numeric) == .orderedAscending }
            .map {
                try ReleasedScripts(String(contentsOf: folder.appending(path: $0), encoding: .utf8))
            }
    }

    private init(_ text: String) throws {
        let lineEnd = try #require(text.firstIndex(of: "\n"))
        let head = try #require(
            text[..<lineEnd].firstMatch(of: /-- release ([0-9.]+), form ([0-9]+)/)
        )
        let release = String(head.1)
        self.release = release
        form = try #require(Int(head.2))
        let body = ScriptTexts.withClock(Scripts.virtualClock, in: String(text[lineEnd...]))
        let library = RedisLibrary(prefix: RedisFunctions.prefix, body: body)
        let unknown = Self.calledOtherwise[release] ?? []
        let known = ScriptName.allCases.filter { name in
            body.contains("function_name = LIBRARY .. '_\(name.rawValue)'")
                && !unknown.contains(name)
        }
        scripts = Dictionary(
            uniqueKeysWithValues: known.map { name in
                // Redis takes functions here; a script of its own nobody may fall back to.
                let refused =
                    "#!lua\nreturn redis.error_reply('ERR the fixture has functions alone')"
                let function = RedisFunction(name.rawValue, of: library)
                return (name, RedisScript(source: refused, function: function))
            }
        )
    }

    /// The release's script of a name; nil where today's code cannot call it.
    subscript(name: ScriptName) -> RedisScript? { scripts[name] }

    /// Whether a store of the release's form, in which its scripts run too, behaves so.
    func has(_ behaviour: ConformanceCase) -> Bool {
        !(Self.ofNewerForms[form]?.contains(behaviour.name) ?? false)
            && !(Self.ofLaterReleases[release]?.contains(behaviour.name) ?? false)
    }

    /// How many of today's scripts the release had.
    var count: Int { scripts.count }

    /// Each script in turn of this release and of today, beginning with either.
    func besideToday(first: Bool) -> Scripts {
        let turns = Turns()
        return .virtual.substituting { name in
            turns.next(name).isMultiple(of: 2) == first ? scripts[name] : nil
        }
    }

    /// How often each script has been called.
    private final class Turns: Sendable {
        private let counts = Mutex<[ScriptName: Int]>([:])

        func next(_ name: ScriptName) -> Int {
            counts.withLock { counts in
                defer { counts[name, default: 0] += 1 }
                return counts[name, default: 0]
            }
        }
    }
}

@Suite("two releases work on one store")
struct SideBySideTests {
    @Test(
        "each behaviour, where every second call of a script is a former release's",
        arguments: [true, false]
    )
    func inTurn(former first: Bool) async throws {
        try await check { $0.besideToday(first: first) }
    }

    /// Enqueued and claimed by one release, committed and told by the other, and the other way round.
    @Test(
        "each behaviour, where one release begins the work and the other does all the rest",
        arguments: [true, false]
    )
    func handedOver(former begins: Bool) async throws {
        let beginning: Set<ScriptName> = [
            .enqueue, .hint, .claim, .mark, .endpointCreate, .keyWrite,
        ]
        try await check { release in
            .virtual.substituting { beginning.contains($0) == begins ? release[$0] : nil }
        }
    }

    /// Runs the suite beside each release, on stores of its form.
    private func check(_ scripts: (ReleasedScripts) -> Scripts) async throws {
        let releases = try ReleasedScripts.all()
        #expect(!releases.isEmpty, "ops/release keeps the scripts of each")
        for release in releases {
            #expect(release.count > 40, "\(release.release) has too few of today's scripts")
            try await withRedis { client in
                var failures: [String] = []
                for behaviour in QueueConformance.allCases where release.has(behaviour) {
                    let harness = try await RedisHarness(
                        client: client,
                        scripts: scripts(release),
                        form: release.form
                    )
                    guard let failure = await behaviour.failure(on: harness) else { continue }
                    failures.append("beside \(release.release), \(behaviour.name): \(failure)")
                }
                #expect(failures == [])
            }
        }
    }
}
