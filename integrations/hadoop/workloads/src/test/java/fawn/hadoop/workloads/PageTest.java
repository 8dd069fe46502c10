package fawn.hadoop.workloads;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Words, pages and command lines, without a cluster. */
final class PageTest {
    @Test
    void wordsAreLettersOfAnyScript() {
        assertEquals(List.of("größe", "don", "t", "привет", "日本語", "x"), Words.of("Größe 12 don't, ПРИВЕТ—日本語!\ud835\udfd8x"));
        assertEquals(List.of(), Words.of(" 1.2; "));
    }

    @Test
    void whatIsNotShownIsNoText() {
        Page page = new Page("/a/b.html", "<STYLE>p { x }</style>One<!-- two --> <b class=\"q\">three</b>&nbsp;4 <scripted>five");
        assertEquals(List.of("one", "three", "five"), Words.of(page.text()));
    }

    @Test
    void linksLeadToPagesOfTheSite() {
        Page page = new Page("/a/b/c.html", "<a href=\"../d.html#x\">Up <b>there</b></a> <a class=q href=\"http://e/\">away</a>"
                + "<a href=\"/f//g.html?q\">root</a><a href=\"#here\">here</a><A HREF=\"./h.html\">next</A>");
        List<String> links = new ArrayList<>();
        page.links().forEach(link -> links.add(link.target + " " + String.join(" ", Words.of(link.text))));
        assertEquals(List.of("/a/d.html up there", "/f/g.html root", "/a/b/h.html next"), links);
    }

    @Test
    void dataSetsAndNumbersAreReadOrRefused() {
        assertEquals("/in", Dataset.of("hdfs:/in").path);
        Dataset fawn = Dataset.of("fawn:a:1,b:2/in/x");
        assertTrue(fawn.isFawn());
        assertEquals("a:1,b:2", fawn.managers);
        assertEquals("in/x", fawn.path);
        assertThrows(IllegalArgumentException.class, () -> Dataset.of("s3:x"));
        Arguments arguments = new Arguments(List.of("--bytes", "10M", "--maps", "0"), List.of("--bytes", "--maps"));
        assertEquals(10_000_000, arguments.number("--bytes", 1));
        assertThrows(IllegalArgumentException.class, () -> arguments.number("--maps", 1));
        assertThrows(IllegalArgumentException.class, () -> arguments.dataset("--from"));
        assertThrows(IllegalArgumentException.class, () -> new Arguments(List.of("--x", "1"), List.of("--y")));
        assertThrows(IllegalArgumentException.class, () -> new Arguments(List.of("--y"), List.of("--y")));
    }
}
