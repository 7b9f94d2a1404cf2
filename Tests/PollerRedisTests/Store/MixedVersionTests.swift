import Foundation
import PollerTesting
import RedisClient
import Synchronization
import Testing

@testable import PollerRedis

/// The scripts of a release, kept by `ops/release`: its processes call them during the next rollout.
struct ReleasedScripts: Sendable {
    /// Scripts whose arguments or replies differ from those of a release, by that release.
    ///
    /// Today's code cannot call the former ones, so the programs themselves must be tested together: the chaos run with
    /// POLLER_PREVIOUS_BIN_DIR. Their stored data must still be the same.
    private static let calledOtherwise: [String: Set<ScriptName>] = [:]

    /// Cases that require a newer store format than a release creates.
    private static let ofNewerForms: [Int: Set<String>] = [:]

    /// Cases of today's scripts that those of a release do not pass, by that release.
    private static let ofLaterReleases: [String: Set<String>] = [:]

    /// The release, as in the file's name.
    let release: String
    /// The format of the stores that it creates.
    let form: Int
    private let scripts: [ScriptName: RedisScript]

    /// Returns those of every release that was kept, the oldest first.
    static func all() throws -> [ReleasedScripts] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Fixtures")
        return try FileManager.default.contentsOfDirectory(atPath: folder.path())
            .filter { $0.hasPrefix("scripts-") }
            .sorted { $0.compare($1, options: .numeric) == .orderedAscending }
            .map {
                try ReleasedScripts(String(contentsOf: folder.appending(path: $0), encoding: .utf8))
            }
    }

    /// Whether a release was kept; a file that cannot be read fails the tests.
    static let hasAny = (try? !all().isEmpty) ?? true

    private init(_ text: String) throws {
        let lineEnd = try #require(text.firstIndex(of: "\n"))
        let head = try #require(
            text[..<lineEnd].firstMatch(of: /-- release ([0-9.]+), form ([0-9]+)/)
        )
        let release = String(head.1)
        self.release = release
        form = try #require(Int(head.2))
        let body = ScriptTexts.withClock(Scripts.virtualClock, in: String(text[lineEnd...]))
        let library = RedisLibrary(prefix: Scripts.libraryPrefix, body: body)
        let unknown = Self.calledOtherwise[release] ?? []
        let known = ScriptName.allCases.filter { name in
            body.contains("function_name = LIBRARY .. '_\(name.rawValue)'")
                && !unknown.contains(name)
        }
        scripts = Dictionary(
            uniqueKeysWithValues: known.map { name in
                // Redis supports functions here, so no call may fall back to a single script.
                let refused =
                    "#!lua\nreturn redis.error_reply('ERR the fixture has only functions')"
                let function = RedisFunction(name.rawValue, of: library)
                return (name, RedisScript(source: refused, function: function))
            }
        )
    }

    /// The release's script of a name; `nil` if today's code cannot call it.
    subscript(name: ScriptName) -> RedisScript? { scripts[name] }

    /// Returns whether a store of the release's format, which its scripts use too, passes a case.
    func has(_ behaviour: ConformanceCase) -> Bool {
        !(Self.ofNewerForms[form]?.contains(behaviour.name) ?? false)
            && !(Self.ofLaterReleases[release]?.contains(behaviour.name) ?? false)
    }

    /// The number of today's scripts that the release has.
    var count: Int { scripts.count }

    /// Alternates between the scripts of this release and of today, beginning with either.
    func alternatingWithCurrent(first: Bool) -> Scripts {
        let turns = Turns()
        return .virtual.substituting { name in
            turns.next(name).isMultiple(of: 2) == first ? scripts[name] : nil
        }
    }

    /// The number of calls of each script.
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

@Suite(
    "Two releases on one store",
    .enabled(if: ReleasedScripts.hasAny, "ops/release has not kept the scripts of any release yet")
)
struct MixedVersionTests {
    @Test(
        "all cases pass when every second call of a script is from a former release",
        arguments: [true, false]
    )
    func inTurn(former first: Bool) async throws {
        try await check { $0.alternatingWithCurrent(first: first) }
    }

    /// One release enqueues and claims, and the other commits and publishes; then the other way round.
    @Test(
        "all cases pass when one release starts the work and the other completes it",
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

    /// Runs the suite with each release, on stores of its format.
    private func check(_ scripts: (ReleasedScripts) -> Scripts) async throws {
        for release in try ReleasedScripts.all() {
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
                    failures.append("with \(release.release), \(behaviour.name): \(failure)")
                }
                #expect(failures == [])
            }
        }
    }
}
