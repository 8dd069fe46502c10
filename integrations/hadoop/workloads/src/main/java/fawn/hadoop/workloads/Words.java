package fawn.hadoop.workloads;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** The words of a text: letters of any script that follow each other, in lower case. */
final class Words {
    private Words() {}

    static List<String> of(String text) {
        List<String> words = new ArrayList<>();
        int begin = -1;
        for (int at = 0; at < text.length(); at += Character.charCount(text.codePointAt(at))) {
            boolean isLetter = Character.isLetter(text.codePointAt(at));
            if (isLetter && begin < 0) {
                begin = at;
            } else if (!isLetter && begin >= 0) {
                words.add(text.substring(begin, at).toLowerCase(Locale.ROOT));
                begin = -1;
            }
        }
        if (begin >= 0) {
            words.add(text.substring(begin).toLowerCase(Locale.ROOT));
        }
        return words;
    }
}
